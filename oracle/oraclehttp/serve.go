// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oraclehttp

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"time"
)

// Listen says where a server listens and who may ask.
type Listen struct {
	// Address is host:port. Without a token it must be on loopback.
	Address string
	// Token is what clients must send; Config.Token is set from it.
	Token string
	// CertFile and KeyFile turn TLS on. ClientCAFile makes clients show a certificate of that authority, which counts as a token does.
	CertFile, KeyFile, ClientCAFile string
}

// ErrOpen is returned for an address that others can reach while nothing says who may ask.
var ErrOpen = errors.New("refused to listen beyond loopback without a token: whoever reaches the address could read the recorded answers and use up the sessions of others")

// minToken keeps a token from being guessed.
const minToken = 16

// Check reports settings that cannot work or are not safe.
func (l Listen) Check() error {
	_, port, err := net.SplitHostPort(l.Address)
	if _, portErr := net.LookupPort("tcp", port); err != nil || portErr != nil {
		return fmt.Errorf("%q is no address to listen on: want HOST:PORT, such as 127.0.0.1:8321", l.Address)
	}
	switch {
	case (l.CertFile == "") != (l.KeyFile == ""):
		return errors.New("TLS needs a certificate and its key")
	case l.ClientCAFile != "" && l.CertFile == "":
		return errors.New("client certificates need TLS")
	case l.Token != "" && len(l.Token) < minToken:
		return fmt.Errorf("the token is shorter than %d bytes", minToken)
	case l.Token == "" && l.ClientCAFile == "" && !Loopback(l.Address):
		return fmt.Errorf("%w (%s)", ErrOpen, l.Address)
	}
	return nil
}

// Loopback reports whether only this machine reaches an address. A name other than localhost counts as reachable: what it stands for
// can change.
func Loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && localName(host)
}

// LocalHost reports whether the Host header of a request names loopback.
func LocalHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return localName(strings.Trim(host, "[]"))
}

func localName(host string) bool {
	if strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// Open checks the settings and listens.
func (l Listen) Open(ctx context.Context) (net.Listener, error) {
	if err := l.Check(); err != nil {
		return nil, err
	}
	config, err := l.tls()
	if err != nil {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", l.Address)
	if err != nil {
		return nil, err
	}
	if config != nil {
		listener = tls.NewListener(listener, config)
	}
	return listener, nil
}

func (l Listen) tls() (*tls.Config, error) {
	if l.CertFile == "" {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(l.CertFile, l.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("load the certificate: %w", err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	if l.ClientCAFile != "" {
		pem, err := os.ReadFile(l.ClientCAFile)
		if err != nil {
			return nil, fmt.Errorf("load the authority of clients: %w", err)
		}
		config.ClientCAs, config.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
		if !config.ClientCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("load the authority of clients: %s holds no certificate", l.ClientCAFile)
		}
	}
	return config, nil
}

// Bounds of a connection. Latencies are waited for outside of them.
const (
	headerTimeout = 10 * time.Second
	readTimeout   = time.Minute
	writeTimeout  = time.Minute
	idleTimeout   = 2 * time.Minute
	maxHeader     = 16 << 10
	drainTimeout  = 10 * time.Second
)

// Serve answers until the context ends, lets running requests finish, and closes the listener. A handler that can be closed is closed
// before: what waits in it then answers at once.
func Serve(ctx context.Context, listener net.Listener, h http.Handler) error {
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true) // the SDKs of AWS for JavaScript speak it to any endpoint of Bedrock
	server := &http.Server{
		Protocols: protocols,
		Handler:   h, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	if waiting, ok := h.(interface{ Close() }); ok {
		waiting.Close()
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	err := server.Shutdown(drain)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	if served := <-done; err == nil && !errors.Is(served, http.ErrServerClosed) {
		err = served
	}
	return err
}
