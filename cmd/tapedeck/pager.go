// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/term"
)

// paged writes to a terminal through a pager where the text is longer than the screen, and to anything else as it comes.
func paged(ctx context.Context, stdout io.Writer, write func(io.Writer) error) error {
	f, ok := stdout.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return write(stdout)
	}
	var text bytes.Buffer
	if err := write(&text); err != nil {
		_, wrote := stdout.Write(text.Bytes())
		return errors.Join(err, wrote)
	}
	pager := pagerOf(os.Getenv)
	if _, rows, err := term.GetSize(int(f.Fd())); err != nil || bytes.Count(text.Bytes(), []byte("\n")) < rows || len(pager) == 0 {
		_, err := stdout.Write(text.Bytes())
		return err
	}
	c := exec.CommandContext(ctx, pager[0], pager[1:]...)
	c.Stdin, c.Stdout, c.Stderr = &text, f, os.Stderr
	c.Env = programEnviron()
	if os.Getenv("LESS") == "" {
		c.Env = append(c.Env, "LESS=FRX") // leave if it fits, colours, keep the text on the screen
	}
	whole := text.Bytes()
	if err := c.Start(); err != nil {
		_, err := stdout.Write(whole)
		return err
	}
	_ = c.Wait() // a pager that is left early is no error
	return nil
}

// pagerOf is the command of the pager, without one where PAGER is empty on purpose or cat.
func pagerOf(getenv func(string) string) []string {
	for _, name := range []string{"TAPEDECK_PAGER", "PAGER"} {
		if words := strings.Fields(getenv(name)); len(words) > 0 {
			if words[0] == "cat" {
				return nil
			}
			return words
		}
	}
	if less, err := exec.LookPath("less"); err == nil {
		return []string{less}
	}
	return nil
}
