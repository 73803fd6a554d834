// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/internal/replay"
	"github.com/tapedeck/tapedeck/internal/surfaces/doctor"
	"github.com/tapedeck/tapedeck/internal/testbed/otlpsend"
)

const agents = "../../testdata/corpus/agents/"

func TestDoctorNamesWhatIsMissingAndTheSwitch(t *testing.T) {
	got := tapedeck(t, "doctor", agents+"openai-otel-contrib-nocontent/research_chain.otlp.json")
	if got.code != exitPartial || got.stderr != "" {
		t.Fatalf("%+v", got)
	}
	golden(t, "doctor_nocontent.txt", got.stdout)
}

func TestDoctorFindsNothingMissing(t *testing.T) {
	got := tapedeck(t, "doctor", agents+"langchain-openinference/research_chain.otlp.json")
	if got.code != exitOK || got.stderr != "" || strings.Count(got.stdout, "missing") != 1 || !strings.Contains(got.stdout, "\n  nothing is missing\n") || !strings.Contains(got.stdout, "1 runs (1 offline)") {
		t.Errorf("%+v", got)
	}
}

func TestDoctorReadsADeckAsItReadsItsFiles(t *testing.T) {
	files := tornRun(t)
	dir := t.TempDir()
	tapedeck(t, append([]string{"derive", "--to", dir, "--redact", "off"}, files...)...)
	want := tapedeck(t, append([]string{"doctor", "--json"}, files...)...)
	got := tapedeck(t, "doctor", dir, "--json")
	var r doctor.Report
	if err := json.Unmarshal([]byte(got.stdout), &r); err != nil || len(r.Sources) != 1 || r.Sources[0].Runs != 1 {
		t.Fatalf("%v: %+v", err, got)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(result{})); diff != "" {
		t.Error(diff)
	}
}

func TestDoctorStopsWhenItHasSeenEnough(t *testing.T) {
	got := tapedeck(t, append([]string{"doctor", "--spans", "1"}, tornRun(t)...)...)
	if !strings.HasPrefix(got.stderr, "tapedeck: stopped after ") {
		t.Errorf("%+v", got)
	}
}

func TestDoctorRefuses(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"doctor"}, "doctor needs a FILE, a DECK or --listen; see tapedeck doctor --help"},
		{[]string{"doctor", "mem://x"}, replay.ErrMem.Error()},
		{[]string{"doctor", forge, "--listen", "127.0.0.1:0"}, "doctor takes either files or --listen"},
		{[]string{"doctor", "--listen", "0.0.0.0:0"}, "--listen 0.0.0.0:0 is not a loopback address; --allow-remote lets other machines send"},
		{[]string{"doctor", "--listen", ":4317"}, "--listen :4317 is not a loopback address; --allow-remote lets other machines send"},
		{[]string{"doctor", forge, "--spans", "0"}, "--spans and --for must be more than nothing"},
	} {
		got := tapedeck(t, c.args...)
		if diff := cmp.Diff(result{exitFailed, "", "tapedeck: " + c.want + "\n"}, got, cmp.AllowUnexported(result{})); diff != "" {
			t.Errorf("%v: %s", c.args, diff)
		}
	}
	for _, arg := range []string{"nofile", t.TempDir(), write(t, "x.json", "hello")} {
		if got := tapedeck(t, "doctor", arg); got.code != exitFailed || got.stdout != "" {
			t.Errorf("%+v", got)
		}
	}
}

func TestDoctorListensUntilEnoughCame(t *testing.T) {
	file := filepath.Join(agents, "langchain-openinference", "research_chain.otlp.json")
	traces, err := otlpsend.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	said, says := io.Pipe()
	var stdout strings.Builder
	code := make(chan int, 1)
	go func() {
		code <- run(t.Context(), []string{"doctor", "--listen", "localhost:0", "--for", "1h", "--spans", "1"}, os.Stdin, &stdout, says)
	}()
	line := make([]byte, 200)
	n, err := said.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	_, endpoint, ok := strings.Cut(strings.TrimSpace(string(line[:n])), "OTEL_EXPORTER_OTLP_ENDPOINT=")
	if !ok {
		t.Fatalf("%s", line[:n])
	}
	if err := otlpsend.HTTP(t.Context(), endpoint, traces); err != nil {
		t.Fatal(err)
	}
	if got := <-code; got != exitOK || !strings.Contains(stdout.String(), "1 runs (1 offline)") {
		t.Errorf("%d %s", got, stdout.String())
	}
}
