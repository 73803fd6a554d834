// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// asProgram is the agent of the tests under the name of a published program.
func asProgram(t *testing.T, name string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.Symlink(os.Args[0], file); err != nil {
		t.Skip(err)
	}
	return file
}

// A known program gets its settings, and its name is said; what the user set stays.
func TestRecordKnowsAProgram(t *testing.T) {
	t.Setenv(agentVariable, "live")
	t.Setenv("OPENAI_BASE_URL", scripted(t)+"/v1")
	deck := filepath.Join(t.TempDir(), "deck")
	const capture = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
	got := commanded(t, "record", "--to", deck, "--", asProgram(t, "copilot"))
	if got.code != exitOK || !strings.HasPrefix(got.stderr, "tapedeck: the command is GitHub Copilot CLI; set for it: "+capture+"\n") {
		t.Errorf("%+v", got)
	}
	got = commanded(t, "record", "--to", deck, "--", os.Args[0])
	if got.code != exitOK || strings.Contains(got.stderr, "the command is") || strings.Contains(got.stderr, "as you set it") {
		t.Errorf("%+v", got)
	}
	t.Setenv(capture, "false")
	for _, program := range []string{asProgram(t, "copilot"), os.Args[0]} {
		if got := commanded(t, "record", "--to", deck, "--", program); !strings.Contains(got.stderr, "as you set it: "+capture+"=false\n") {
			t.Errorf("%s: %+v", program, got)
		}
	}
	if got := commanded(t, "record", "--to", deck, "--", "sh", "-c", `test "$`+capture+`" = false && case $OTEL_LOG_RAW_API_BODIES in file:/*/bodies) exit 7;; esac`); !strings.Contains(got.stderr, "code 7") {
		t.Errorf("%+v", got)
	}
}

// The folder of the bodies does not outlive the command.
func TestRecordLeavesNoFolder(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	t.Setenv("TMP", tmp)
	got := commanded(t, "record", "--to", filepath.Join(t.TempDir(), "deck"), "--", "sh", "-c", `echo secret > "${OTEL_LOG_RAW_API_BODIES#file:}/a.json"; ls "${OTEL_LOG_RAW_API_BODIES#file:}"`)
	if !strings.Contains(got.stderr, "a.json") {
		t.Fatalf("%+v", got)
	}
	if left, _ := filepath.Glob(filepath.Join(tmp, "tapedeck-record-*")); len(left) > 0 {
		t.Errorf("%v", left)
	}
}

// That a command failed is the first of the closing words, and what it left behind is ended.
func TestRecordLeadsWithTheExitCode(t *testing.T) {
	t.Setenv(agentVariable, "live")
	t.Setenv("OPENAI_BASE_URL", scripted(t)+"/v1")
	got := commanded(t, "record", "--to", filepath.Join(t.TempDir(), "deck"), "--", "sh", "-c", `"$0"; echo bye; exit 3`, os.Args[0])
	_, closing, _ := strings.Cut(got.stderr, "bye\n")
	if got.code != exitPartial || !strings.HasPrefix(closing, "tapedeck: the command ended with code 3\n") {
		t.Errorf("%+v", got)
	}
	if _, err := exec.LookPath("setsid"); err != nil || runtime.GOOS != "linux" {
		return
	}
	got = commanded(t, "record", "--grace", "1s", "--to", filepath.Join(t.TempDir(), "deck"), "--", "sh", "-c", `"$0"; (setsid sleep 1000 >/dev/null 2>&1 &); sleep 0.2`, os.Args[0])
	if got.code != exitOK || !strings.Contains(got.stderr, "tapedeck: the command left 1 processes behind, which were ended: sleep\n") {
		t.Errorf("%+v", got)
	}
}
