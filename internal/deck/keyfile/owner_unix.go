// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package keyfile

import (
	"os"
	"slices"
	"syscall"
)

func judge(path string, info os.FileInfo) (concern string, err error) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "", nil
	}
	groups, _ := os.Getgroups() // none are none of the file's
	return file{info.Mode(), int(stat.Uid), os.Geteuid(), int(stat.Gid) == os.Getegid() || slices.Contains(groups, int(stat.Gid))}.judge(path)
}

// Own says whether a file belongs to this user.
func Own(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return !ok || int(stat.Uid) == os.Geteuid()
}
