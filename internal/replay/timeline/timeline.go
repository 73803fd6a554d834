// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package timeline shows a tape to a person: what was asked, every event in order, the answer and the findings.
package timeline

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/tapedeck/tapedeck/tape"
)

// Options says how to show a tape.
type Options struct {
	Width int  // terminal cells of a line; 0 means 100
	Color bool // ANSI colours
	Full  bool // nothing is shortened; lines are not broken
	// First and Last are the numbers of the events to show; 0 is no limit.
	First, Last int
}

const (
	defaultWidth = 100
	minWidth     = 40
)

// How many lines a text may take when it is shortened.
const (
	promptLines = 3
	userLines   = 8
	answerLines = 12
)

// Render writes the tape as text. Content is neutralised (see Clean).
func Render(w io.Writer, t *tape.Tape, o Options) error {
	if o.Width == 0 {
		o.Width = defaultWidth
	}
	o.Width = max(o.Width, minWidth)
	p := &printer{w: bufio.NewWriter(w), o: o, t: t, depths: Depths(t)}
	p.header()
	p.asked()
	p.events()
	p.answer()
	p.verdicts()
	p.findings()
	return p.w.Flush() // a bufio.Writer keeps its first error
}

type printer struct {
	w      *bufio.Writer
	o      Options
	t      *tape.Tape
	depths map[int]int // seq → nesting below agent_call events
}

// Style is an ANSI colour.
type Style string

// The styles.
const (
	Plain  Style = ""
	Bold   Style = "1"
	Dim    Style = "2"
	Red    Style = "31"
	Green  Style = "32"
	Yellow Style = "33"
	Cyan   Style = "36"
)

func (p *printer) paint(s Style, text string) string { return Paint(p.o.Color, s, text) }

// Paint makes text safe, puts it on one line and gives it a colour where there are any.
func Paint(color bool, s Style, text string) string {
	text = line(text)
	if !color || s == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

func (p *printer) println(text string) {
	_, _ = p.w.WriteString(strings.TrimRight(text, " "))
	_ = p.w.WriteByte('\n')
}

func (p *printer) title(text string) {
	p.println("")
	p.println(p.paint(Bold, text))
}

// field writes a label and a text that continues below itself when it has several lines.
func (p *printer) field(indent, label, text string, lines int, note string) {
	head := indent + pad(label, labelWidth)
	room := max(p.o.Width-columns(head), 16)
	text = Clean(text)
	var out []string
	if p.o.Full {
		out = strings.Split(text, "\n")
	} else {
		short := text
		if most := 4 * room * (lines + 1); len(short) > most { // do not lay out what is not shown
			short = strings.ToValidUTF8(short[:most], "")
		}
		out = wrap(strings.TrimRight(short, "\n"), room)
		if len(out) > lines || len(short) < len(text) {
			out = out[:min(lines, len(out))]
			note = join(note, Size(len(text)))
			last, _ := cut(out[len(out)-1], max(room-columns(note)-6, 8))
			out[len(out)-1] = strings.TrimRight(strings.TrimSuffix(last, "…"), " ") + " …"
		}
	}
	for i, l := range out {
		lead := strings.Repeat(" ", columns(head))
		if i == 0 {
			lead = indent + p.paint(Dim, pad(label, labelWidth))
		}
		if i == len(out)-1 && note != "" {
			if columns(l)+columns(note)+3 > room && !p.o.Full && i < lines {
				p.println(lead + l)
				lead, l = strings.Repeat(" ", columns(head)), ""
			} else if l != "" {
				l += "  "
			}
			l += p.paint(Dim, "("+note+")")
		}
		p.println(lead + l)
	}
}

const labelWidth = 9

func pad(s string, n int) string {
	return s + strings.Repeat(" ", max(n-columns(s), 1))
}

// join joins what is not empty.
func join(parts ...string) string { return joinWith(", ", parts...) }

func joinWith(sep string, parts ...string) string {
	var out []string
	for _, s := range parts {
		if s != "" {
			out = append(out, s)
		}
	}
	return strings.Join(out, sep)
}

// Size is a number of bytes as a person writes it.
func Size(n int) string {
	switch {
	case n < 10_000:
		return strconv.Itoa(n) + " bytes"
	case n < 10_000_000:
		return strconv.Itoa(n/1000) + " kB"
	}
	return strconv.Itoa(n/1_000_000) + " MB"
}

// Duration is a time in milliseconds as a person writes it.
func Duration(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	switch {
	case d < 0:
		return strconv.FormatInt(ms, 10) + " ms"
	case d < time.Second:
		return strconv.FormatInt(ms, 10) + " ms"
	case d < time.Minute:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	}
	return d.Round(time.Second).String()
}

// Plural is a number of things.
func Plural(n int, one, many string) string {
	if n == 1 {
		return fmt.Sprintf("%d %s", n, one)
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Depths counts the agent calls around each event, by its number. A chain that does not end, in a damaged tape, ends here.
func Depths(t *tape.Tape) map[int]int {
	parent := make(map[int]int, len(t.Events))
	for i := range t.Events {
		parent[t.Events[i].Seq] = t.Events[i].Parent
	}
	const most = 12
	out := make(map[int]int, len(t.Events))
	for seq := range parent {
		n := 0
		for p := parent[seq]; p != 0 && n < most; p = parent[p] {
			n++
		}
		out[seq] = n
	}
	return out
}
