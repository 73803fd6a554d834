// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tapedeck/tapedeck/internal/deck/reel"
	"github.com/tapedeck/tapedeck/internal/deck/reel/filter"
	"github.com/tapedeck/tapedeck/internal/deck/reel/where"
	"github.com/tapedeck/tapedeck/internal/evaluation/expect"
)

// Selection says which recorded runs a case is for. A nil *Selection takes all.
type Selection struct {
	Where       string  `yaml:"where"`        // a condition, as that of ls
	UserMessage *string `yaml:"user_message"` // but for white space around it

	condition *where.Condition
}

func (s *Selection) check() (err error) {
	switch {
	case s == nil:
		return nil
	case s.Where == "" && s.UserMessage == nil:
		return errors.New("runs: want where or user_message")
	case s.Where == "":
		return nil
	}
	now := time.Now()
	if s.condition, err = where.Parse(s.Where, func(text string) (time.Time, error) { return filter.ParseTime(text, now) }); err != nil {
		return fmt.Errorf("runs: where: %w", err)
	}
	return nil
}

// columnLength bounds the column user_message, in characters, from below.
const columnLength = 400

// needsTape tells whether the column holds the beginning of the message alone.
func (s *Selection) needsTape() bool {
	return s != nil && s.UserMessage != nil && len([]rune(*s.UserMessage)) > columnLength
}

func (s *Selection) columns() (names []string) {
	if s == nil {
		return nil
	}
	if s.condition != nil {
		names = append(names, s.condition.Columns()...)
	}
	if s.UserMessage != nil {
		names = append(names, "user_message")
	}
	return names
}

// Takes tells whether the case is for a run, as far as its columns say it. With a tape the whole message is
// compared.
func (c *Case) Takes(r expect.Run) bool {
	s := c.Runs
	switch {
	case s == nil:
		return true
	case s.condition != nil && !s.condition.Match(r.Columns):
		return false
	case s.UserMessage == nil:
		return true
	case r.Tape != nil:
		return r.Tape.Input.UserMessage != nil && strings.TrimSpace(*r.Tape.Input.UserMessage) == strings.TrimSpace(*s.UserMessage)
	}
	return takesMessage(r.Columns, strings.TrimSpace(*s.UserMessage), s.needsTape())
}

func takesMessage(m *reel.Meta, want string, long bool) bool {
	got := strings.TrimSpace(m.UserMessage)
	return got == want || long && got != "" && strings.HasPrefix(want, got)
}
