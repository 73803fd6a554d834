// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package secretenv keeps what this program was given in its environment from the programs that it starts:
// variables that are its own secrets are taken out of the environment, and the environment that the system
// shows of this process is erased.
package secretenv

import (
	"os"
	"sync"
)

var (
	mu     sync.Mutex
	taken  = map[string]string{}
	hidden error
)

// Take takes variables out of the environment of this process, which commands inherit. Get still has them.
func Take(names ...string) error {
	mu.Lock()
	defer mu.Unlock()
	for _, name := range names {
		value, set := os.LookupEnv(name)
		if !set {
			continue
		}
		taken[name] = value
		if err := os.Unsetenv(name); err != nil {
			return err
		}
	}
	return nil
}

// Get is the value of a variable, whether it was taken or not; "" where it is not set.
func Get(name string) string {
	mu.Lock()
	defer mu.Unlock()
	if value, set := os.LookupEnv(name); set {
		return value
	}
	return taken[name]
}

// Environ is the environment of this process with what was taken, for a process that is this program again.
func Environ() []string {
	mu.Lock()
	defer mu.Unlock()
	all := os.Environ()
	for name, value := range taken {
		all = append(all, name+"="+value)
	}
	return all
}

// Hide erases what the system shows of the environment of this process, and has it refuse other processes of
// the same user that want to read its memory. The environment stays, for this program and for what it starts.
// It is done on Linux, and nothing elsewhere.
func Hide() {
	mu.Lock()
	defer mu.Unlock()
	hidden = hide()
}

// Hidden is why Hide failed; nil where it did not.
func Hidden() error {
	mu.Lock()
	defer mu.Unlock()
	return hidden
}

// Exposed says for a person that commands can read the environment of this process; "" where Hide did not
// fail.
func Exposed() string {
	if err := Hidden(); err != nil {
		return "a command can read the environment of this program: " + err.Error()
	}
	return ""
}

var opening sync.Mutex

// Open calls a function while the system lets processes of the same user look at this one, as Hide has it
// refuse: without that an ordinary user cannot start a process in a namespace of users. It changes nothing in
// a process that is not hidden.
func Open(f func() error) error {
	opening.Lock()
	defer opening.Unlock()
	defer open()()
	return f()
}
