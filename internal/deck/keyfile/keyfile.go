// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package keyfile reads files that hold a secret key, and says who else can read or replace it.
package keyfile

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// maxBytes is far more than a file with a key has.
const maxBytes = 1 << 20

// Read returns the content of a file with a secret key, at most 1 MiB. concern says that others can read or
// replace the key, and is empty where nobody can: the file belongs to this user and is closed to others, or
// to root and is open to this user's groups, as mounted secrets are. A file that everybody can write is an
// error. A pipe has no owner to ask for. Errors and concerns name the file and hold nothing of it.
func Read(path string) (data []byte, concern string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return nil, "", err
	}
	if info.Mode().IsRegular() {
		if concern, err = judge(path, info); err != nil {
			return nil, "", err
		}
	}
	if data, err = io.ReadAll(io.LimitReader(f, maxBytes+1)); err != nil {
		return nil, "", err
	}
	if len(data) > maxBytes {
		return nil, "", fmt.Errorf("%s: too large for a key", path)
	}
	return data, concern, nil
}

// file is what decides who has a key.
type file struct {
	mode          os.FileMode
	owner, user   int
	groupIsOfUser bool
}

func (f file) judge(path string) (concern string, err error) {
	const root = 0
	switch perm := f.mode.Perm(); {
	case perm&0o002 != 0:
		return "", fmt.Errorf("%s can be written by everybody (mode %04o), so anybody can choose the key: chmod 600", path, perm)
	case f.owner != f.user && f.owner != root:
		return fmt.Sprintf("%s belongs to user %d and not to user %d, who uses it: its owner knows the key and can replace it", path, f.owner, f.user), nil
	case perm&0o004 != 0:
		return fmt.Sprintf("%s can be read by everybody (mode %04o): chmod 600, or defaultMode 0400 of a mounted secret", path, perm), nil
	case perm&0o060 != 0 && (f.owner == f.user || !f.groupIsOfUser):
		return fmt.Sprintf("%s is open to its group (mode %04o): chmod 600", path, perm), nil
	}
	return "", nil
}
