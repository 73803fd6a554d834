// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tapedeck/tapedeck/internal/deck/reel/view"
	"github.com/tapedeck/tapedeck/internal/replay/page"
	"github.com/tapedeck/tapedeck/internal/replay/timeline"
)

// overview is what is said of all runs of a choice: their number, the values that a filter can ask for, and
// when they started.
type overview struct {
	total  int
	values map[string]map[string]int // column → value → runs
	bins   bins
}

// Bounds of an overview.
const (
	maxValues   = 10_000 // of a column; further values are not counted
	longValue   = 200    // bytes; a longer one makes no chip, as its address would be longer still
	shownValues = 8
	maxBins     = 60
)

func newOverview() *overview {
	o := &overview{values: map[string]map[string]int{}, bins: bins{at: map[int64]*[3]int{}}}
	for _, f := range facets {
		o.values[f.column] = map[string]int{}
	}
	return o
}

// see counts a run.
func (o *overview) see(r *view.Run) {
	o.total++
	for _, f := range facets {
		v, _ := r.Value(f.column)
		switch v := v.(type) {
		case string:
			o.count(f.column, v)
		case []string:
			for _, one := range v {
				o.count(f.column, one)
			}
		}
	}
	if r.StartedAt != 0 {
		o.bins.add(r.StartedAt/1e6, slices.Index(kinds[:], page.Class(timeline.StatusStyle(r.Status))))
	}
}

func (o *overview) count(column, value string) {
	if of := o.values[column]; value != "" && len(value) <= longValue && (of[value] > 0 || len(of) < maxValues) {
		of[value]++
	}
}

// most are the values that most runs have.
func (o *overview) most(column string) []string {
	of := o.values[column]
	list := slices.SortedFunc(maps.Keys(of), func(a, b string) int { return cmp.Or(of[b]-of[a], strings.Compare(a, b)) })
	return list[:min(len(list), shownValues)]
}

// kinds are the parts of a bar of the histogram, from the bottom up.
var kinds = [3]string{"bad", "odd", "good"}

// bins count runs by when they started. Their width grows with the time that they cover.
type bins struct {
	width       int64 // seconds; 0 before the first run
	first, last int64 // numbers of bins
	at          map[int64]*[3]int
}

// widths are those that a person reads easily, each a multiple of the one before, in seconds.
var widths = []int64{1, 5, 15, 60, 300, 900, 3600, 3 * 3600, 6 * 3600, 12 * 3600, 24 * 3600, 7 * 24 * 3600, 28 * 24 * 3600, 364 * 24 * 3600}

func (b *bins) add(second int64, kind int) {
	if b.width == 0 {
		b.width = widths[0]
		b.first, b.last = second, second
	}
	at := floor(second, b.width)
	for max(b.last, at)-min(b.first, at) >= maxBins {
		b.widen()
		at = floor(second, b.width)
	}
	b.first, b.last = min(b.first, at), max(b.last, at)
	if b.at[at] == nil {
		b.at[at] = &[3]int{}
	}
	b.at[at][kind]++
}

func (b *bins) widen() {
	before := b.width
	b.width *= 2
	if i := slices.Index(widths, before); i >= 0 && i+1 < len(widths) {
		b.width = widths[i+1]
	}
	old := b.at
	b.at = map[int64]*[3]int{}
	for at, n := range old {
		to := floor(at, b.width/before)
		if b.at[to] == nil {
			b.at[to] = &[3]int{}
		}
		for kind := range n {
			b.at[to][kind] += n[kind]
		}
	}
	b.first, b.last = floor(b.first, b.width/before), floor(b.last, b.width/before)
}

// floor is the number of the bin of a width in which a number lies.
func floor(n, width int64) int64 { return int64(math.Floor(float64(n) / float64(width))) }

// histogram is the bins as a page draws them, in an area of histogramWidth and histogramHeight.
type histogram struct {
	Bars              []histogramBar
	First, Last, Peak string
	Width             string // of a bar, as a time
}

type histogramBar struct {
	X, Width   int
	URL, Label string
	Parts      []histogramPart
}

type histogramPart struct {
	Class     string
	Y, Height int
}

const (
	histogramWidth, histogramHeight = 1200, 64
	fewestBars                      = 24 // few bars stay narrow
)

// histogram draws the bins; nil where no run has a start. Each bar leads to its runs.
func (b *bins) histogram(q query) *histogram {
	if b.width == 0 {
		return nil
	}
	peak := 0
	for _, n := range b.at {
		peak = max(peak, n[0]+n[1]+n[2])
	}
	start := func(at int64) time.Time { return time.Unix(at*b.width, 0).UTC() }
	layout := "2006-01-02 15:04"
	if b.width < 60 {
		layout += ":05"
	}
	h := &histogram{First: start(b.first).Format(layout), Last: start(b.last + 1).Format(layout), Peak: timeline.Plural(peak, "run", "runs"), Width: widthText(b.width)}
	slot := histogramWidth / max(int(b.last-b.first)+1, fewestBars)
	for _, at := range slices.Sorted(maps.Keys(b.at)) {
		n := b.at[at]
		bar := histogramBar{X: int(at-b.first) * slot, Width: slot - 2, URL: q.with("since", start(at).Format(time.RFC3339)).address("until", start(at+1).Format(time.RFC3339))}
		var label []string
		y := histogramHeight
		for i, class := range kinds {
			if n[i] == 0 {
				continue
			}
			height := max(2, n[i]*histogramHeight/peak)
			y -= height
			bar.Parts = append(bar.Parts, histogramPart{class, max(y, 0), height})
			label = append(label, strconv.Itoa(n[i])+" "+[3]string{"failed", "interrupted or without an end", "ok"}[i])
		}
		bar.Label = start(at).Format(layout) + ": " + strings.Join(label, ", ")
		h.Bars = append(h.Bars, bar)
	}
	return h
}

// widthText is a width of bins as a person says it.
func widthText(seconds int64) string {
	if day := int64(24 * 3600); seconds%day == 0 {
		return timeline.Plural(int(seconds/day), "day", "days")
	}
	return strings.TrimSuffix(strings.TrimSuffix((time.Duration(seconds)*time.Second).String(), "0s"), "0m")
}
