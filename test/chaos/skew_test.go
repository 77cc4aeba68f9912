package chaos

// skewEnv names the environment variable with the error, in seconds, of the clock
// of a program that is built with skewed.
const skewEnv = "STREAMER_TEST_SKEW"

// skewed is the package time with a wall clock that can be wrong. Go does not read the clock
// through libc, and time namespaces do not change the wall clock, so a program cannot be given
// another time without an overlay.
var skewed = patched{
	pkg: "time", file: "time.go", added: "skew.go", content: `package time

import "syscall"

var skew = readSkew()

func readSkew() (s int64) {
	text, _ := syscall.Getenv("` + skewEnv + `")
	sign := int64(1)
	for _, c := range []byte(text) {
		if c == '-' {
			sign = -1
			continue
		}
		s = 10*s + int64(c-'0')
	}
	return sign * s
}
`,
	edits: [][2]string{{"	sec, nsec, mono := runtimeNow()\n", "	sec, nsec, mono := runtimeNow()\n	sec += skew\n"}},
}
