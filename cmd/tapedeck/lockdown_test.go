// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"net"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/tapedeck/tapedeck/internal/replay/rerun"
)

// outside listens on the loopback of the machine, which lies outside of a lockdown, by TCP, UDP and, where there is one, IPv6. It returns
// the addresses and what arrived there.
func outside(t *testing.T) (addresses string, arrived *atomic.Int64) {
	t.Helper()
	arrived = &atomic.Int64{}
	var list []string
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			if strings.HasPrefix(address, "[") {
				continue // no IPv6 here
			}
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = listener.Close() })
		list = append(list, "tcp "+listener.Addr().String())
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				arrived.Add(1)
				_ = conn.Close()
			}
		}()
	}
	packets, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = packets.Close() })
	go func() {
		for {
			if _, _, err := packets.ReadFrom(make([]byte, 16)); err != nil {
				return
			}
			arrived.Add(1)
		}
	}()
	return strings.Join(append(list, "udp "+packets.LocalAddr().String()), " "), arrived
}

func TestNothingGetsOutOfALockdown(t *testing.T) {
	if err := (&exec.Cmd{Path: "/bin/true", SysProcAttr: &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET}}).Run(); err != nil {
		if os.Getenv("TAPEDECK_REQUIRE_SERVICES") == "1" {
			t.Fatal(err)
		}
		t.Skip("no namespaces here: ", err)
	}
	url := recordedAgent(t)
	addresses, arrived := outside(t)
	t.Setenv(placeVariable, addresses)
	code, r := replayed(t, "escape", url, "--input", "stdin", "--answer", "stdout")
	if code != exitOK || r.Lockdown || arrived.Load() < 4 { // TCP and UDP, of the command and of its child
		t.Fatalf("without a lockdown %d of what was sent came, code %d", arrived.Load(), code)
	}
	arrived.Store(0)
	code, r = replayed(t, "escape", url, "--input", "stdin", "--answer", "stdout", "--require-lockdown")
	if code != exitOK || r.Verdict != rerun.AsRecorded || !r.Lockdown {
		t.Errorf("code %d: %s %+v", code, failed(r), r)
	}
	if n := arrived.Load(); n != 0 {
		t.Errorf("%d of what was sent came", n)
	}
	if _, inside := os.LookupEnv("TAPEDECK_LOCKDOWN"); inside {
		t.Error("this process believes that it is inside")
	}
	// A variable is no lockdown.
	here, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	for _, forged := range []string{"1", here} {
		t.Setenv("TAPEDECK_LOCKDOWN", forged)
		got := commanded(t, "replay", url, "--require-lockdown", "--", os.Args[0])
		if got.code != exitFailed || !strings.Contains(got.stderr, "not the network of a lockdown") {
			t.Errorf("TAPEDECK_LOCKDOWN=%s: %+v", forged, got)
		}
	}
	got := commanded(t, "replay", "s3://bucket/tape.json", "--require-lockdown", "--", os.Args[0])
	if got.code != exitFailed || !strings.Contains(got.stderr, "no way to a deck on the network") {
		t.Errorf("%+v", got)
	}
}
