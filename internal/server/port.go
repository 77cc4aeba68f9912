package server

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// listen listens on an address. If the port is in use, the error names the process
// that uses it, where the system shows it.
func listen(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err == nil {
		return l, nil
	}
	if !errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("--http-listen: %w", err)
	}
	by := ""
	if _, port, err := net.SplitHostPort(address); err == nil {
		by = listener(os.DirFS("/proc"), port)
	}
	return nil, fmt.Errorf("--http-listen: %s is in use%s; stop it, or name another address, such as 127.0.0.1:0 for a free port", address, by)
}

// listener returns " by process ID (NAME)" for the process that listens on a TCP port,
// "" if proc does not show it.
func listener(proc fs.FS, port string) string {
	inodes := listening(proc, port)
	pids, err := fs.Glob(proc, "[0-9]*")
	if err != nil || len(inodes) == 0 {
		return ""
	}
	for _, pid := range pids {
		if !hasSocket(proc, pid, inodes) {
			continue
		}
		name, err := fs.ReadFile(proc, pid+"/comm")
		if err != nil {
			return " by process " + pid
		}
		return fmt.Sprintf(" by process %s (%s)", pid, strings.TrimSpace(string(name)))
	}
	return " by a process of another user"
}

// listening returns the names of the sockets that listen on a port, as the links of
// file descriptors contain them.
func listening(proc fs.FS, port string) map[string]bool {
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil
	}
	const stateListen, columns = "0A", 10
	suffix := fmt.Sprintf(":%04X", n)
	found := map[string]bool{}
	for _, table := range []string{"net/tcp", "net/tcp6"} {
		file, err := proc.Open(table)
		if err != nil {
			continue
		}
		for s := bufio.NewScanner(file); s.Scan(); {
			f := strings.Fields(s.Text())
			if len(f) >= columns && strings.HasSuffix(f[1], suffix) && f[3] == stateListen {
				found["socket:["+f[9]+"]"] = true
			}
		}
		file.Close()
	}
	return found
}

func hasSocket(proc fs.FS, pid string, sockets map[string]bool) bool {
	descriptors, err := fs.ReadDir(proc, pid+"/fd")
	if err != nil {
		return false // a process of another user, or one that ended
	}
	for _, d := range descriptors {
		if target, err := fs.ReadLink(proc, pid+"/fd/"+d.Name()); err == nil && sockets[target] {
			return true
		}
	}
	return false
}
