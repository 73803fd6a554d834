// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package keyfile

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestWhoElseHasAKeyIsSaid(t *testing.T) {
	const me, ada, root = 1000, 1001, 0
	for name, of := range map[string]struct {
		file
		concern, refused string
	}{
		"mine alone":                          {file{0o600, me, me, true}, "", ""},
		"mine, for reading":                   {file{0o400, me, me, true}, "", ""},
		"mine, and open to all":               {file{0o644, me, me, true}, "everybody", ""},
		"mine, and open to my group":          {file{0o640, me, me, true}, "group", ""},
		"mine, and written by my group":       {file{0o620, me, me, true}, "group", ""},
		"written by everybody":                {file{0o602, me, me, true}, "", "everybody"},
		"of another":                          {file{0o600, ada, me, false}, "user 1001", ""},
		"of another, read by root":            {file{0o600, ada, root, false}, "user 1001 and not to user 0", ""},
		"of root":                             {file{0o600, root, root, true}, "", ""},
		"mounted for my group":                {file{0o440, root, me, true}, "", ""},
		"mounted for all":                     {file{0o444, root, me, false}, "everybody", ""},
		"of root, for a group that is not me": {file{0o640, root, me, false}, "group", ""},
	} {
		concern, err := of.judge("key.pem")
		if got := err != nil; got != (of.refused != "") || got && !strings.Contains(err.Error(), of.refused) {
			t.Errorf("%s: %v", name, err)
		}
		if (concern != "") != (of.concern != "") || !strings.Contains(concern, of.concern) || concern != "" && !strings.Contains(concern, "key.pem") {
			t.Errorf("%s: %q", name, concern)
		}
	}
}

func TestAKeyIsReadOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	for mode, said := range map[os.FileMode]bool{0o600: false, 0o644: true} {
		if err := os.WriteFile(path, []byte("content"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		data, concern, err := Read(path)
		if err != nil || string(data) != "content" || (concern != "") != (said && runtime.GOOS != "windows") || strings.Contains(concern, "content") {
			t.Errorf("%04o: %q %q %v", mode, data, concern, err)
		}
	}
	if err := os.Truncate(path, maxBytes+1); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Read(path); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Error(err)
	}
	if _, _, err := Read(filepath.Dir(path)); err == nil {
		t.Error("a folder is a key")
	}
}
