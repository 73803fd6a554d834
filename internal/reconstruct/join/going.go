// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package join

import "slices"

// goingRuns are the spans of runs that were going on at a moment, by a key. Moments are asked for in order of
// time.
type goingRuns[K comparable] struct {
	later, open map[K][]*part
}

// goingOn sorts the spans of runs by a key.
func goingOn[K comparable](all []*part, key func(*part) K) goingRuns[K] {
	runs := goingRuns[K]{map[K][]*part{}, map[K][]*part{}}
	for _, f := range all {
		if f.OwnRun() {
			runs.later[key(f)] = append(runs.later[key(f)], f)
		}
	}
	return runs
}

func (g goingRuns[K]) at(key K, moment uint64) []*part {
	open, later := g.open[key], g.later[key]
	for len(later) > 0 && later[0].earliest.Start <= moment {
		open, later = append(open, later[0]), later[1:]
	}
	open = slices.DeleteFunc(open, func(f *part) bool { return f.time().end < moment })
	g.open[key], g.later[key] = open, later
	return open
}
