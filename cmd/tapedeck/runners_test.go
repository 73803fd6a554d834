// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestTheRunnersOfTheDocumentsConform: the runners in docs/evaluate.md do all that whatifd-exec/1 asks for
// and advises.
func TestTheRunnersOfTheDocumentsConform(t *testing.T) {
	page := readAll(t, "../../docs/evaluate.md")
	for language, program := range map[string]string{"python": "python3", "js": "node"} {
		t.Run(language, func(t *testing.T) {
			m := regexp.MustCompile("(?s)```" + language + "\n(.*?)```").FindStringSubmatch(page)
			if m == nil {
				t.Fatal("there is no runner")
			}
			if _, err := exec.LookPath(program); err != nil && os.Getenv("TAPEDECK_REQUIRE_SERVICES") == "1" {
				t.Fatal(err)
			} else if err != nil {
				t.Skipf("%v: the runner is run where its language is", err)
			}
			got := tapedeck(t, "exec-check", "--strict", "exec:"+program+" "+write(t, "runner."+language, m[1]))
			if got.code != exitOK || strings.Count(got.stdout, "\n") < 12 {
				t.Errorf("%+v", got)
			}
			for line := range strings.Lines(got.stdout) {
				if !strings.HasPrefix(line, "ok ") {
					t.Error(line)
				}
			}
		})
	}
}
