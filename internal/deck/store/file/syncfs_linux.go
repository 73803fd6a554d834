// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package file

import (
	"fmt"
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// journaled are the file systems on which syncfs(2) makes files and names durable
// that were written before, as fsync(2) does for one of them. Others, those of
// networks and of user space above all, may pass it over.
var journaled = []int64{unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC}

// syncFileSystem returns a function that syncs the file system of a folder. It
// returns nil when that cannot be relied on: before Linux 5.8 syncfs did not
// tell that writing had failed. syncfs tells each failure once to the open
// folder, so that folder has to stay open as long as the function is used.
func syncFileSystem(folder *os.File) func() error {
	var name unix.Utsname
	var fs unix.Statfs_t
	if unix.Uname(&name) != nil || !tellsFailures(unix.ByteSliceToString(name.Release[:])) ||
		unix.Fstatfs(int(folder.Fd()), &fs) != nil || !slices.Contains(journaled, int64(fs.Type)) {
		return nil
	}
	return func() error { return unix.Syncfs(int(folder.Fd())) }
}

// tellsFailures reads a release of Linux, such as 5.10.0-28-amd64.
func tellsFailures(release string) bool {
	var major, minor int
	n, _ := fmt.Sscanf(release, "%d.%d", &major, &minor)
	return n == 2 && (major > 5 || major == 5 && minor >= 8)
}

// deviceOf identifies the file system of a folder; 0 if it cannot be told.
func deviceOf(folder *os.Root) uint64 {
	info, err := folder.Stat(".")
	if err != nil {
		return 0
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Dev)
	}
	return 0
}
