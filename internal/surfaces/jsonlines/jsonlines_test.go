// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package jsonlines

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// answers are what Each gives for some input.
func answers(t *testing.T, in io.Reader, b Bounds) (list []string) {
	t.Helper()
	err := Each(t.Context(), in, b, func(l Line) string {
		if l.Err != nil {
			return fmt.Sprintf("%d: %v", l.Number, l.Err)
		}
		return fmt.Sprintf("%d: %s", l.Number, l.Text)
	}, func(s string) error { list = append(list, s); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestALineThatIsTooLongIsAnsweredAndTheNextOneIsRead(t *testing.T) {
	long := strings.Repeat("x", 300_000) // longer than what is read at once
	in := "a\n\n" + long + "\n  b \r\n" + long[:10] + "\n" + long[:11] + "\nlast"
	want := []string{"1: a", "3: longer than 10 bytes", "4: b", "5: xxxxxxxxxx", "6: longer than 10 bytes", "7: last"}
	for jobs := range 3 {
		if diff := cmp.Diff(want, answers(t, strings.NewReader(in), Bounds{10, jobs + 1})); diff != "" {
			t.Errorf("%d jobs:\n%s", jobs+1, diff)
		}
	}
	if got := answers(t, strings.NewReader("\n\n"), Bounds{10, 1}); len(got) > 0 {
		t.Errorf("%q", got)
	}
}

// TestAnswersKeepTheOrderOfTheLines although the first of each three is done last, and no more lines are in
// memory than jobs.
func TestAnswersKeepTheOrderOfTheLines(t *testing.T) {
	const lines, jobs = 30, 3
	var held, most atomic.Int64
	var others [lines / jobs]sync.WaitGroup
	for i := range others {
		others[i].Add(jobs - 1)
	}
	next := 0
	err := Each(t.Context(), strings.NewReader(strings.Repeat("x\n", lines)), Bounds{10, jobs}, func(l Line) int {
		most.Store(max(most.Load(), held.Add(1)))
		group := &others[(l.Number-1)/jobs]
		if l.Number%jobs == 1 {
			group.Wait()
		} else {
			group.Done()
		}
		return l.Number
	}, func(n int) error {
		held.Add(-1)
		if next++; n != next {
			return fmt.Errorf("answer %d in place %d", n, next)
		}
		return nil
	})
	if err != nil || next != lines || most.Load() > jobs {
		t.Errorf("%d answers, %d lines at once: %v", next, most.Load(), err)
	}
}

type broken struct{ io.Reader }

func (b broken) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

func TestAnInputOrOutputThatBreaksEndsIt(t *testing.T) {
	full := errors.New("full")
	err := Each(t.Context(), strings.NewReader("a\nb\n"), DefaultBounds, func(l Line) int { return l.Number }, func(int) error { return full })
	if !errors.Is(err, full) {
		t.Error(err)
	}
	taken := 0
	err = Each(t.Context(), broken{strings.NewReader("a\nb\ncut")}, DefaultBounds, func(l Line) int { return l.Number }, func(int) error { taken++; return nil })
	if !errors.Is(err, io.ErrUnexpectedEOF) || taken != 2 {
		t.Error(taken, err)
	}
}

func FuzzEveryLineIsAnsweredOnce(f *testing.F) {
	f.Add([]byte("a\nb"))
	f.Add([]byte("\n\r\n toolongtoolong\nx\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		want := 0
		for _, line := range strings.Split(string(in), "\n") {
			if strings.TrimSpace(line) != "" || len(strings.TrimRight(line, "\r\n")) > 8 {
				want++
			}
		}
		got := 0
		err := Each(t.Context(), strings.NewReader(string(in)), Bounds{8, 2}, func(l Line) Line { return l }, func(l Line) error {
			if got++; l.Err == nil && len(l.Text) == 0 {
				t.Error("an empty line")
			}
			return nil
		})
		if err != nil || got != want {
			t.Errorf("%d answers to %d lines: %v", got, want, err)
		}
	})
}
