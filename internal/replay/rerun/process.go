// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package rerun runs an agent again: it gives the command the recorded input, the environment that leads its SDKs to the recorded
// answers, and ends it with its children.
package rerun

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"time"

	"github.com/tapedeck/tapedeck/internal/replay/lockdown"
	"github.com/tapedeck/tapedeck/internal/replay/procgroup"
	"github.com/tapedeck/tapedeck/internal/replay/secretenv"
)

// Command is what is run.
type Command struct {
	Argv           []string
	Env            []string
	Dir            string    // where it runs; "" is here
	Stdin          io.Reader // nil: empty
	Stdout, Stderr io.Writer
	// Timeout ends the command, children included; 0 waits for ever. Grace is what it has to end after it was asked to.
	Timeout, Grace time.Duration
	// Ask is set for a command that is a server: it is called when the command runs, and the command is ended when it returns.
	Ask func(ctx context.Context) error
	// Held is set for a command that Hold has prepared; its input and output are those that Hold was given.
	Held *Held
	// Files are what a command that is held may write; nil leaves it all files.
	Files *lockdown.Files
	// Detached is set for a command whose processes are ended wherever they are (Linux): it is called with
	// the names of those that had left the group. Mark is a variable that this command alone has, as
	// NAME=VALUE.
	Detached func(names []string)
	Mark     string
	// Remove is a folder that must not outlive this process, where Held can see to it.
	Remove string
}

// Held is a command that waits in a network of its own.
type Held struct {
	cmd   *exec.Cmd
	ended <-chan error
	cage  *lockdown.Cage
	// Listeners are on the loopback that the command will have.
	Listeners []net.Listener
}

// Hold prepares a network of its own for a command, with so many listeners. Run lets the command begin; Drop gives it up.
func Hold(c Command, listeners int) (*Held, error) {
	cmd := newCmd(c)
	cage, err := lockdown.New(cmd, listeners, c.Files)
	if err != nil {
		return nil, err
	}
	h := &Held{cmd: cmd, cage: cage}
	err = secretenv.Open(func() (err error) {
		h.ended, err = procgroup.Start(cmd)
		return err
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %w", lockdown.ErrImpossible, err), cage.Close())
	}
	if h.Listeners, err = cage.Ready(); err != nil {
		return nil, errors.Join(err, h.Drop())
	}
	return h, nil
}

// Drop ends what waits, or what is left, and frees it.
func (h *Held) Drop() error {
	err := h.cage.Close()
	<-h.ended
	for _, l := range h.Listeners {
		if closeErr := l.Close(); !errors.Is(closeErr, net.ErrClosed) { // who serves on it closes it too
			err = errors.Join(err, closeErr)
		}
	}
	return err
}

// Seen is what was seen of the command, when Drop has returned.
func (h *Held) Seen() lockdown.Seen { return h.cage.Seen() }

// Client asks what the command serves on its loopback; of one that is not held, on that of this machine.
func (h *Held) Client() *http.Client {
	if h == nil {
		return direct
	}
	return h.cage.Client()
}

func newCmd(c Command) *exec.Cmd {
	cmd := exec.Command(c.Argv[0], c.Argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = c.Dir, c.Env, c.Stdin, c.Stdout, c.Stderr, c.Grace
	return cmd
}

// Exit is how a command ended.
type Exit struct {
	Code     int  `json:"code"` // -1 when a signal ended it
	Stopped  bool `json:"stopped,omitempty"`
	TimedOut bool `json:"timed_out,omitempty"`
	// Refused is the failure with which a server answered.
	Refused string `json:"refused,omitempty"`
}

// ErrNotRun is returned, wrapped, for a command that could not be started.
var ErrNotRun = errors.New("the command could not be run")

// Run runs the command and waits until it and its children are gone.
func Run(ctx context.Context, c Command) (Exit, error) {
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.Timeout, errTimeout)
		defer cancel()
	}
	var cmd *exec.Cmd
	var ended <-chan error
	var err error
	if c.Held != nil {
		cmd, ended = c.Held.cmd, c.Held.ended
		err = c.Held.cage.Run(c.Argv, c.Env, c.Remove, c.Grace)
	} else {
		if c.Detached != nil {
			end := procgroup.Adopt(c.Mark)
			defer func() {
				if names := end(c.Grace); len(names) > 0 {
					c.Detached(names)
				}
			}()
		}
		cmd = newCmd(c)
		ended, err = procgroup.Start(cmd)
	}
	if err != nil {
		return Exit{}, fmt.Errorf("%w: %w", ErrNotRun, err)
	}
	asked := make(chan error, 1)
	asking, stopAsking := context.WithCancel(ctx)
	defer stopAsking()
	if c.Ask != nil {
		go func() { asked <- c.Ask(asking) }()
	}
	var exit Exit
	var askErr error
	select {
	case err = <-ended:
		if c.Ask != nil {
			stopAsking()
			if askErr = <-asked; askErr != nil {
				askErr = fmt.Errorf("the command ended before it had answered: %w", askErr)
			}
		}
	case askErr = <-asked:
		exit.Stopped = true
		err = stop(cmd, ended, c.Grace)
	case <-ctx.Done():
		exit.Stopped, exit.TimedOut = true, context.Cause(ctx) == errTimeout
		err = stop(cmd, ended, c.Grace)
		if c.Ask != nil {
			<-asked
		}
	}
	procgroup.End(cmd.Process.Pid, c.Grace)
	exit.Code = cmd.ProcessState.ExitCode()
	if c.Held != nil {
		exit.Code = c.Held.cage.ExitCode(exit.Code)
	}
	var failed *exec.ExitError
	if errors.As(err, &failed) || errors.Is(err, exec.ErrWaitDelay) {
		err = nil // the code says it; children that held on to its output are gone
	}
	if exit.TimedOut {
		askErr = nil
	} else if ctx.Err() != nil {
		err = errors.Join(err, ctx.Err())
	}
	return exit, errors.Join(err, askErr)
}

var errTimeout = errors.New("timeout")

// stop asks the group to end, and ends it when the grace is over.
func stop(cmd *exec.Cmd, ended <-chan error, grace time.Duration) error {
	procgroup.Ask(cmd.Process.Pid)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case err := <-ended:
		return err
	case <-timer.C:
	}
	procgroup.Kill(cmd.Process.Pid)
	return <-ended
}
