// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package secretenv

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

const (
	stageVariable  = "TAPEDECK_TEST_SECRETENV"
	secretVariable = "TAPEDECK_TEST_SECRET"
	secret         = "rhubarb-5081"
)

func TestMain(m *testing.M) {
	if os.Getenv(stageVariable) == "" {
		os.Exit(m.Run())
	}
	if err := Take(secretVariable); err != nil {
		panic(err)
	}
	Hide()
	if err := Hidden(); err != nil {
		panic(err)
	}
	// The command sees what it was given, and looks at what started it.
	look := exec.Command("sh", "-c", `echo "own: $`+secretVariable+` $PLAIN"; tr '\0' '\n' < /proc/$PPID/environ; (: < /proc/$PPID/mem) && echo memory is open`)
	out, _ := look.CombinedOutput() // the last of it may fail
	os.Stdout.Write(out)
	os.Stdout.WriteString("still known: " + Get(secretVariable) + "\n")
	err := Open(func() error {
		out, _ := exec.Command("sh", "-c", `: < /proc/$PPID/mem && echo opened`).CombinedOutput()
		os.Stdout.Write(out)
		return nil
	})
	if err != nil {
		panic(err)
	}
	out, _ = exec.Command("sh", "-c", `: < /proc/$PPID/mem && echo memory is open`).CombinedOutput()
	os.Stdout.Write(out)
}

func TestWhatThisProcessWasGivenIsShownToNobody(t *testing.T) {
	users := map[string]*syscall.SysProcAttr{"this user": {}}
	if os.Getuid() == 0 {
		users["nobody"] = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	for name, user := range users {
		cmd := exec.CommandContext(t.Context(), "/proc/self/exe") // a user who may not see the folder of the program can run it all the same
		cmd.Dir, cmd.SysProcAttr = "/", user
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), stageVariable + "=1", "PLAIN=" + "pear", secretVariable + "=" + secret}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		if !bytes.Contains(out, []byte("own:  pear\n")) || !bytes.Contains(out, []byte("still known: "+secret+"\n")) || !bytes.Contains(out, []byte("opened\n")) {
			t.Errorf("%s:\n%s", name, out)
		}
		if seen := strings.Count(string(out), secret); seen != 1 || bytes.Contains(out, []byte("PLAIN=")) {
			t.Errorf("%s: a command saw the environment of what had started it:\n%s", name, out)
		}
		if root := user.Credential == nil && os.Getuid() == 0; !root && bytes.Contains(out, []byte("memory is open")) {
			t.Errorf("%s: a command may read the memory of what has started it:\n%s", name, out)
		}
	}
}
