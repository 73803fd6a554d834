// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestOnlyLicencesThatAreKnownAndAllowedPass(t *testing.T) {
	apache, err := os.ReadFile("../../LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	const (
		mit = "MIT License\n\nCopyright (c) 2020 Somebody\n\nPermission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files (the \"Software\"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do so, subject to the following conditions:\n\nThe above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.\n\nTHE SOFTWARE IS PROVIDED \"AS IS\", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.\n"
		gpl = "This program is free software: you can redistribute it and/or modify it under the terms of the GNU General Public License as published by the Free Software Foundation, either version 3 of the License, or (at your option) any later version.\n\nThis program is distributed in the hope that it will be useful, but WITHOUT ANY WARRANTY; without even the implied warranty of MERCHANTABILITY or FITNESS FOR A PARTICULAR PURPOSE. See the GNU General Public License for more details.\n\nYou should have received a copy of the GNU General Public License along with this program. If not, see <https://www.gnu.org/licenses/>.\n"
	)
	for name, c := range map[string]struct {
		files map[string]string
		found []string
		says  string // empty: it may be linked
	}{
		"apache":        {map[string]string{"LICENSE": string(apache)}, []string{"Apache-2.0"}, ""},
		"two":           {map[string]string{"LICENSE.md": mit, "LICENSE-APACHE": string(apache)}, []string{"Apache-2.0", "MIT"}, ""},
		"gpl":           {map[string]string{"COPYING": gpl}, nil, "GPL"},
		"gpl beside":    {map[string]string{"LICENSE": mit, "COPYING": gpl}, nil, "GPL"},
		"none":          {map[string]string{"README": mit}, nil, "no licence is found"},
		"words of ours": {map[string]string{"LICENSE": "You may use this on Tuesdays, unless it rains, for purposes that the authors would like."}, nil, "unknown"},
	} {
		dir := t.TempDir()
		for file, text := range c.files {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		found, err := licences(dir)
		if err != nil {
			t.Fatal(err)
		}
		if c.found != nil && !slices.Equal(found, c.found) {
			t.Errorf("%s: found %v", name, found)
		}
		err = judge("example.com/"+name, found)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, %v", name, found, err)
		}
	}
}
