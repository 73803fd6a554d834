// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package lockdown runs a command where there is no network but a loopback of its own: on Linux, in
// namespaces of users, networks, processes and mounts, without capabilities, terminals and the system calls
// that lead out of them. What listens there is opened inside and served from here, so that the tape may lie
// anywhere. Everything that the command starts ends with it, and with this program. Elsewhere a proxy is all
// there is, which only what uses proxies respects.
package lockdown

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"time"
)

// ErrImpossible is returned, wrapped, where the system cannot do it.
var ErrImpossible = errors.New("the network cannot be shut here")

// initName is the first argument of this program where it is the first process inside. What it is to run follows later, over a socket.
const initName = "tapedeck-lockdown-init"

// Main is to be called first by programs that use this package: where the process is the first one inside, it does its work and does
// not return.
func Main() {
	if len(os.Args) > 0 && os.Args[0] == initName {
		os.Exit(inside())
	}
}

// order is what the first process inside is asked to do.
type order struct {
	Run  *run   `json:"run,omitempty"`
	Dial string `json:"dial,omitempty"` // address of the loopback inside
}

// run is a command.
type run struct {
	Argv  []string      `json:"argv"`
	Env   []string      `json:"env"`
	Dir   string        `json:"dir"`
	Grace time.Duration `json:"grace"` // for what the command leaves behind
	// Remove is a folder of ours that must not outlive this program.
	Remove string `json:"remove,omitempty"`
}

// answer is what the first process inside says; files may come with it.
type answer struct {
	Error  string `json:"error,omitempty"`
	Exited *int   `json:"exited,omitempty"` // exit code of the command, -1 when a signal ended it
	// Enforced comes with the listeners.
	Enforced *Enforced `json:"enforced,omitempty"`
}

// Enforced says what holds for a command in a Cage, by name.
type Enforced struct {
	Held []string `json:"held"`
	// Lacking could not be had; why stands behind the name.
	Lacking []string `json:"lacking,omitempty"`
	// Whole says that nothing is lacking that could be a way out of the namespaces.
	Whole bool `json:"whole"`
}

// Client asks servers on the loopback inside.
func (c *Cage) Client() *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
		return c.Dial(ctx, address)
	}}}
}
