package natsserver

import "golang.org/x/sys/windows"

// FreeBytes returns the number of bytes that this user may still write to the disk of
// dir; 0 if that is not known.
func FreeBytes(dir string) int64 {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0
	}
	var free uint64
	if err := windows.GetDiskFreeSpaceEx(name, &free, nil, nil); err != nil {
		return 0
	}
	return int64(free)
}
