// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

const (
	storeUser   = "tapedeck"
	storeSecret = "tapedeck-test-only"
	storeBucket = "tapedeck-test"
)

// mortalStore is an S3 server that a test can kill and bring back on the same address with the same data. The servers of
// decktest live as long as their test.
type mortalStore struct {
	url string

	t       *testing.T
	binary  string
	address string
	data    string
	sidecar string
	cmd     *exec.Cmd
}

func startVersityGW(t *testing.T) *mortalStore {
	t.Helper()
	binary := os.Getenv("TAPEDECK_TEST_VERSITYGW")
	if binary == "" {
		var err error
		if binary, err = exec.LookPath("versitygw"); err != nil {
			if os.Getenv("TAPEDECK_REQUIRE_SERVICES") == "1" {
				t.Fatal(err)
			}
			t.Skip("versitygw is not on PATH: go install github.com/versity/versitygw/cmd/versitygw@v1.8.0")
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &mortalStore{t: t, binary: binary, address: l.Addr().String(), data: t.TempDir(), sidecar: t.TempDir()}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(s.data, storeBucket), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_ACCESS_KEY_ID", storeUser)
	t.Setenv("AWS_SECRET_ACCESS_KEY", storeSecret)
	s.url = "s3://" + storeBucket + "/deck?endpoint=http://" + s.address + "&region=us-east-1&use_path_style=true"
	t.Cleanup(func() {
		if s.cmd != nil {
			s.kill()
		}
	})
	s.start()
	return s
}

func (s *mortalStore) start() {
	s.t.Helper()
	s.cmd = exec.Command(s.binary, "--port", s.address, "--region", "us-east-1", "posix", "--sidecar", s.sidecar, s.data)
	s.cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+storeUser, "ROOT_SECRET_KEY="+storeSecret)
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	until(s.t, "versitygw to answer", func() bool {
		req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, "http://"+s.address+"/", nil)
		if err != nil {
			s.t.Fatal(err)
		}
		req.Close = true
		resp, err := http.DefaultClient.Do(req)
		return err == nil && resp.Body.Close() == nil
	})
}

// kill ends the server as a power cut does; what it was writing is cut off.
func (s *mortalStore) kill() {
	s.t.Helper()
	if err := s.cmd.Process.Kill(); err != nil {
		s.t.Fatal(err)
	}
	_ = s.cmd.Wait() // it was killed: the status says so
	s.cmd = nil
}
