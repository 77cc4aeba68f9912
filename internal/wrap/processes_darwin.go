package wrap

import "golang.org/x/sys/unix"

const zombie = 5 // SZOMB of sys/proc.h

// processes returns the processes of the system, without those that have ended and that their
// parents have not taken note of.
func processes() (list []process) {
	all, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil
	}
	for _, p := range all {
		if p.Proc.P_stat != zombie {
			list = append(list, process{id: int(p.Proc.P_pid), parent: int(p.Eproc.Ppid), started: p.Proc.P_starttime.Nano()})
		}
	}
	return list
}
