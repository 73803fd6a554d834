// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package lockdown

// Seen is what was seen of a command in a Cage, apart from what it tells of itself.
type Seen struct {
	// Watched says that every program that was started was seen. Why says what stood in the way.
	Watched bool
	Why     string
	// Programs are those that were started, in the order in which they came first.
	Programs []Program
	Started  int // how often a program was started, in all
	// Connects counts what was asked for beyond the loopback, by ADDRESS:PORT. None of it was reached.
	Connects map[string]int
	// Cut says that the lists are not whole.
	Cut bool
}

// Program is a program that was started with these arguments. Long arguments are cut.
type Program struct {
	Path  string
	Argv  []string
	Count int
}
