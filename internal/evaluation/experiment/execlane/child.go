// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package execlane speaks whatifd-exec/1, the protocol over standard input and output by which a runner in any language replays runs: one
// JSON object per line. It is the side that starts the runner.
package execlane

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/tapedeck/tapedeck/internal/evaluation/experiment/contract"
	"github.com/tapedeck/tapedeck/internal/replay/procgroup"
)

// Protocol is the protocol that is spoken.
const Protocol = "whatifd-exec/1"

const (
	maxLog  = 64 << 10 // of what a runner writes to standard error, the end of it
	excerpt = 256      // bytes of a line in an error
)

// line is a line of the runner, or why there is none.
type line struct {
	text []byte
	err  error
}

// frame is a line that is a JSON object.
type frame struct {
	kind    string
	members map[string]json.RawMessage
	raw     []byte
}

// text returns a member that is a string; ok is false for anything else.
func (f *frame) text(name string) (s string, ok bool) {
	s, err := contract.String(f.members[name])
	return s, err == nil
}

// child is a running runner.
type child struct {
	cmd    *exec.Cmd
	in     *os.File
	lines  chan line
	gone   chan struct{} // closed when nobody reads lines any more
	done   chan struct{} // closed when the runner has ended: how, is in ended
	ended  error
	log    *tail
	logged chan struct{} // closed when there is no more to log
	write  time.Duration
	close  sync.Once
}

// start starts a runner. It reads lines of up to maxLine bytes.
func start(c *Config) (*child, error) {
	cmd := exec.Command(c.Argv[0], c.Argv[1:]...)
	cmd.Dir, cmd.Env = c.Dir, c.Env
	inRead, inWrite, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	outRead, outWrite, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, inRead.Close(), inWrite.Close())
	}
	logRead, logWrite, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, inRead.Close(), inWrite.Close(), outRead.Close(), outWrite.Close())
	}
	k := &child{cmd: cmd, in: inWrite, lines: make(chan line), gone: make(chan struct{}), done: make(chan struct{}), logged: make(chan struct{}), log: &tail{also: c.Stderr}, write: c.ReplayTimeout}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inRead, outWrite, logWrite // files: children that hold them do not hold up Wait
	ended, err := procgroup.Start(cmd)
	_, _, _ = inRead.Close(), outWrite.Close(), logWrite.Close() // the runner has its own
	if err != nil {
		_, _, _ = inWrite.Close(), outRead.Close(), logRead.Close()
		return nil, err
	}
	go func() {
		k.ended = <-ended
		close(k.done)
	}()
	go func() { // whoever holds the other ends open does not hold this up
		<-k.gone
		_, _ = outRead.Close(), logRead.Close()
	}()
	go func() {
		_, _ = io.Copy(k.log, logRead) // a log that ends early is what there is
		close(k.logged)
	}()
	go k.read(outRead, c.MaxLine)
	return k, nil
}

// read hands on the lines until there are no more, or nobody wants them.
func (k *child) read(r *os.File, longest int) {
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		text, err := readLine(in, longest)
		select {
		case k.lines <- line{text, err}:
		case <-k.gone:
			return
		}
		if err != nil {
			return
		}
	}
}

// errLine is returned for a line that is too long.
var errLine = errors.New("a line is too long")

func readLine(in *bufio.Reader, longest int) (text []byte, err error) {
	for {
		piece, err := in.ReadSlice('\n')
		if len(text)+len(piece) > longest {
			return text[:min(len(text), excerpt)], errLine
		}
		text = append(text, piece...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil && len(text) > 0:
			return text, io.ErrUnexpectedEOF // a line that was not ended
		case err != nil:
			return nil, io.EOF
		default:
			return bytes.TrimRight(text, "\r\n"), nil
		}
	}
}

// next returns the next line.
func (k *child) next(ctx context.Context) (line, error) {
	select {
	case l := <-k.lines:
		return l, nil
	case <-ctx.Done():
		return line{}, context.Cause(ctx)
	}
}

// send writes a line: compact JSON with sorted names, in ASCII.
func (k *child) send(ctx context.Context, frame map[string]any) error {
	frame["v"] = 1
	text, err := json.Marshal(frame)
	if err != nil {
		return err
	}
	return k.sendText(ctx, string(text))
}

func (k *child) sendText(ctx context.Context, text string) error {
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(k.write)
	}
	if err := k.in.SetWriteDeadline(deadline); err != nil {
		return err
	}
	_, err := k.in.Write(append(ascii(text), '\n'))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return errTimeout
	}
	return err
}

// ascii escapes what is not ASCII in JSON: some runners read bytes of their locale.
func ascii(text string) []byte {
	dst := make([]byte, 0, len(text)+len(text)/8)
	for _, r := range text {
		switch {
		case r < 0x7F:
			dst = append(dst, byte(r))
		case r > 0xFFFF:
			r -= 0x10000
			dst = fmt.Appendf(dst, `\u%04x\u%04x`, 0xD800+r>>10, 0xDC00+r&0x3FF)
		default:
			dst = fmt.Appendf(dst, `\u%04x`, r)
		}
	}
	return dst
}

// end ends the runner, by signals when it does not end for having been asked to. The error is that of Wait.
func (k *child) end(patience, grace time.Duration) (err error, killed bool) {
	k.close.Do(func() {
		_ = k.in.Close()
		if killed = !within(k.done, patience); killed {
			procgroup.Ask(k.cmd.Process.Pid)
			if !within(k.done, grace) {
				procgroup.Kill(k.cmd.Process.Pid)
				<-k.done
			}
		}
		procgroup.End(k.cmd.Process.Pid, grace)
		within(k.logged, time.Second) // longer only where somebody outside of the group holds it
		close(k.gone)
	})
	<-k.done
	return k.ended, killed
}

// within tells whether a channel is closed within a time.
func within(closed <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-closed:
		return true
	case <-timer.C:
		return false
	}
}

// kill ends the runner at once.
func (k *child) kill() {
	procgroup.Kill(k.cmd.Process.Pid)
	_, _ = k.end(time.Minute, 0)
}

// tail keeps the end of what is written, and passes it on.
type tail struct {
	mu   sync.Mutex
	kept []byte
	also io.Writer
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, b...)
	if extra := len(t.kept) - maxLog; extra > 0 {
		t.kept = append(t.kept[:0], t.kept[extra:]...)
	}
	if t.also != nil {
		_, _ = t.also.Write(b) // a log
	}
	return len(b), nil
}

// String is the end of the log.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.kept)
}
