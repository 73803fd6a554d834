// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oraclehttp

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"go.uber.org/goleak"
)

func TestOpenServersWithoutATokenAreRefused(t *testing.T) {
	for _, address := range []string{":0", "0.0.0.0:0", "[::]:0", "10.0.0.1:80", "example.com:80", "localhost.example.com:80", "*:0"} {
		l := Listen{Address: address}
		if _, err := l.Open(t.Context()); !errors.Is(err, ErrOpen) || !strings.Contains(err.Error(), "without a token") {
			t.Errorf("%s: %v", address, err)
		}
	}
	for _, l := range []Listen{
		{Address: "0.0.0.0:0", Token: "short"},
		{Address: "127.0.0.1:0", CertFile: "c"},
		{Address: "127.0.0.1:0", ClientCAFile: "c"},
		{Address: "0.0.0.0:0", CertFile: "c", KeyFile: "k"}, // TLS alone keeps nobody out
	} {
		if err := l.Check(); err == nil {
			t.Errorf("%+v was accepted", l)
		}
	}
	for _, l := range []Listen{{Address: "127.0.0.1:0"}, {Address: "localhost:0"}, {Address: "[::1]:0"}, {Address: "0.0.0.0:0", Token: "0123456789abcdef"}} {
		if err := l.Check(); err != nil {
			t.Errorf("%+v: %v", l, err)
		}
	}
}

// serve runs a server until the test ends and returns its address.
func serve(t *testing.T, l Listen, h *Handler) (address string, stop func() error) {
	t.Helper()
	listener, err := l.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, listener, h) }()
	return listener.Addr().String(), func() error { cancel(); return <-done }
}

func TestServerLetsRunningRequestsFinish(t *testing.T) {
	defer goleak.VerifyNone(t)
	slow := entry(t, "t", `{}`, "r")
	latency := int64(time.Hour / time.Millisecond)
	slow.LatencyMS = &latency
	clock := clockwork.NewFakeClock()
	h := newHandler(t, Config{Clock: clock, Speed: 1, LocalOnly: true}, slow)
	address, stop := serve(t, Listen{Address: "127.0.0.1:0"}, h)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer := make(chan string, 1)
	go func() {
		response, err := client.Post("http://"+address+"/v1/tool-calls", "application/json", strings.NewReader(toolCall(`"tool_name":"t","args":{}`)))
		if err != nil {
			answer <- err.Error()
			return
		}
		body, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		answer <- string(body)
	}()
	if err := clock.BlockUntilContext(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if got := <-answer; !strings.Contains(got, `"hit":true`) {
		t.Error(got)
	}
	if _, err := net.Dial("tcp", address); err == nil {
		t.Error("the listener is still open")
	}
}

func TestServerBoundsHeaders(t *testing.T) {
	defer goleak.VerifyNone(t)
	address, stop := serve(t, Listen{Address: "127.0.0.1:0"}, newHandler(t, Config{}))
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(conn, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: %s\r\n\r\n", strings.Repeat("x", 2*maxHeader)); err != nil {
		t.Log(err) // the server may have hung up already
	}
	status, err := bufio.NewReader(conn).ReadString('\n')
	if err == nil && !strings.Contains(status, "431") {
		t.Errorf("got %q", status)
	}
	_ = conn.Close()
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// The SDK of AWS for JavaScript speaks HTTP/2 to any endpoint of Bedrock, from the first byte on.
func TestServerSpeaksHTTP2WithoutTLS(t *testing.T) {
	defer goleak.VerifyNone(t)
	address, stop := serve(t, Listen{Address: "127.0.0.1:0"}, newHandler(t, Config{LocalOnly: true}, entry(t, "t", `{}`, "r")))
	only := &http.Protocols{}
	only.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: only}
	response, err := (&http.Client{Transport: transport}).Post("http://"+address+"/v1/tool-calls", "application/json", strings.NewReader(toolCall(`"tool_name":"t","args":{}`)))
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if response.ProtoMajor != 2 || !bytes.Contains(body, []byte(`"hit":true`)) {
		t.Errorf("%s: %s", response.Proto, body)
	}
	transport.CloseIdleConnections()
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestServerSpeaksTLS(t *testing.T) {
	defer goleak.VerifyNone(t)
	// httptest has a certificate for 127.0.0.1 at hand.
	borrowed := httptest.NewTLSServer(http.NotFoundHandler())
	certificate, pool := borrowed.TLS.Certificates[0], borrowed.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	borrowed.Close()
	dir := t.TempDir()
	cert, key := writePair(t, dir, certificate)
	address, stop := serve(t, Listen{Address: "127.0.0.1:0", CertFile: cert, KeyFile: key}, newHandler(t, Config{}, entry(t, "t", `{}`, "r")))
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: pool}}}
	response, err := client.Post("https://"+address+"/v1/tool-calls", "application/json", strings.NewReader(toolCall(`"tool_name":"t","args":{}`)))
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if !bytes.Contains(body, []byte(`"hit":true`)) {
		t.Errorf("%s", body)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if _, err := (Listen{Address: "127.0.0.1:0", CertFile: filepath.Join(dir, "none"), KeyFile: key}).Open(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if _, err := (Listen{Address: "127.0.0.1:0", CertFile: cert, KeyFile: key, ClientCAFile: key}).Open(t.Context()); err == nil {
		t.Error("a key is no authority")
	}
}

func writePair(t *testing.T, dir string, c tls.Certificate) (cert, key string) {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: c.Certificate[0]}, key: {Type: "PRIVATE KEY", Bytes: der}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}
