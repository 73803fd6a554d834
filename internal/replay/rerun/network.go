// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package rerun

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tapedeck/tapedeck/internal/replay/lockdown"
)

// Shut says how the network of a command is shut.
type Shut string

// The ways.
const (
	ShutNamespace Shut = "namespace" // nothing but a loopback of its own, for every protocol and every child
	ShutProxy     Shut = "proxy"     // variables lead to a proxy that refuses; what does not read them gets out
	ShutNot       Shut = "off"
)

// promise is what each way holds, for reports.
var promise = map[Shut]string{
	ShutNamespace: "nothing left the machine over a network but to declared hosts; files and Unix sockets were within reach",
	ShutProxy:     "only what uses the proxy of HTTP_PROXY and HTTPS_PROXY was held back; anything else could get out",
	ShutNot:       "the network was open",
}

// promiseInPart is what a namespace holds that lacks something.
const promiseInPart = "there was no network but a loopback and the way to declared hosts; what is not enforced may be another way out"

// Shutting is what is known of the network of a replay. Its JSON form is part of the contract.
type Shutting struct {
	Shut    Shut   `json:"shut"`
	Promise string `json:"promise"`
	Why     string `json:"why,omitempty"` // it is shut less than a namespace does it
	// Enforced names what holds for the command in a namespace, NotEnforced what could not be had there, and
	// why.
	Enforced    []string       `json:"enforced,omitempty"`
	NotEnforced []string       `json:"not_enforced,omitempty"`
	Allowed     []string       `json:"allowed,omitempty"`
	Through     map[string]int `json:"through,omitempty"` // connections by HOST:PORT
	Refused     map[string]int `json:"refused,omitempty"` // only those that asked the proxy are counted
}

// Network is where one command runs.
type Network struct {
	Shutting
	held  *Held
	next  int
	proxy *lockdown.Proxy
	serve *http.Server
	done  chan error
	// Address is the URL of the proxy, "" without one.
	Address string
	// Seen is what was seen of a command in a namespace, when Close has returned; nil without one.
	Seen *lockdown.Seen
}

// listeners of a command: for its services, for its telemetry and for the proxy.
const listeners = 3

// OpenNetwork shuts the network for a command that has its input and output, as far as want says and the system can. required refuses less
// than a namespace with all that its promise needs.
func OpenNetwork(ctx context.Context, want Shut, required bool, proxy *lockdown.Proxy, command *Command) (n *Network, err error) {
	n = &Network{Shutting: Shutting{Shut: want, Promise: promise[want]}, proxy: proxy}
	if want == ShutNamespace {
		n.held, err = Hold(*command, listeners)
		command.Held = n.held
		switch {
		case err == nil:
			if err := n.enforced(required); err != nil {
				return nil, errors.Join(err, n.Close())
			}
		case required || command.Files != nil || !errors.Is(err, lockdown.ErrImpossible):
			return nil, err
		default:
			n.Shut, n.Promise, n.Why = ShutProxy, promise[ShutProxy], err.Error()
		}
	}
	if n.Shut == ShutNot {
		return n, nil
	}
	n.Allowed = proxy.Allowed()
	listener, err := n.Listen(ctx)
	if err != nil {
		return nil, errors.Join(err, n.Close())
	}
	n.Address = "http://" + listener.Addr().String()
	n.serve, n.done = &http.Server{Handler: proxy, ReadHeaderTimeout: 10 * time.Second}, make(chan error, 1)
	go func() { n.done <- n.serve.Serve(listener) }()
	return n, nil
}

// enforced takes over what the namespace says of itself.
func (n *Network) enforced(required bool) error {
	held := n.held.cage.Enforced()
	n.Enforced, n.NotEnforced = held.Held, held.Lacking
	if held.Whole {
		return nil
	}
	n.Promise = promiseInPart
	if required {
		return fmt.Errorf("%w: not enforced: %s", lockdown.ErrImpossible, strings.Join(held.Lacking, "; "))
	}
	return nil
}

// Listen opens a listener that the command reaches, and nobody beyond this machine.
func (n *Network) Listen(ctx context.Context) (net.Listener, error) {
	if n.held == nil {
		return (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	}
	if n.next == len(n.held.Listeners) {
		return nil, errors.New("no listener is left")
	}
	n.next++
	return n.held.Listeners[n.next-1], nil
}

// Client asks what the command serves.
func (n *Network) Client() *http.Client { return n.held.Client() }

// Close ends what is left of the command and the proxy, and notes what that did.
func (n *Network) Close() (err error) {
	if n.serve != nil {
		err = n.serve.Close()
		if served := <-n.done; !errors.Is(served, http.ErrServerClosed) {
			err = errors.Join(err, served)
		}
		n.Through, n.Refused = n.proxy.Counts()
	}
	if n.held != nil {
		err = errors.Join(err, n.held.Drop())
		seen := n.held.Seen()
		n.Seen = &seen
	}
	return err
}

// lines say it for a person.
func (s *Shutting) lines() (list []string) {
	if s.Shut == "" {
		return nil
	}
	line := fmt.Sprintf("network: %s: %s", s.Shut, s.Promise)
	if s.Why != "" {
		line += " (" + s.Why + ")"
	}
	list = append(list, line)
	if len(s.Enforced) > 0 {
		list = append(list, "enforced: "+strings.Join(s.Enforced, "; "))
	}
	if len(s.NotEnforced) > 0 {
		list = append(list, "not enforced: "+strings.Join(s.NotEnforced, "; "))
	}
	for _, of := range []struct {
		what   string
		counts map[string]int
	}{{"let through", s.Through}, {"refused", s.Refused}} {
		for _, host := range slices.Sorted(maps.Keys(of.counts)) {
			list = append(list, fmt.Sprintf("network: %s %d connections to %s", of.what, of.counts[host], host))
		}
	}
	return list
}
