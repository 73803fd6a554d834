// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"hash/fnv"
)

// set says which kinds are scored together. Kinds that are held out were not looked at while rules were
// written.
type set int

const (
	first          set = iota // rules were written with them
	firstHeldOut              // held out then, seen since
	second                    // no rule was written for them before they were scored
	secondHeldOut             // and none after that was looked at
	third                     // drawn when the rules for the second were done, and scored before any was changed
	fourth                    // drawn before the rules were looked at again; they were written with this half of it
	fourthHeldOut             // and not with this half
	fifth                     // drawn when the rules for the fourth were done, and scored before any was changed
	sixth                     // drawn when the mechanisms for the fifth were done; they were mended with this half of it
	sixthHeldOut              // and this half was scored once after that
	seventh                   // drawn when the rules for the sixth were done; they were mended with this half of it
	seventhHeldOut            // and this half was scored once after that
	eighth                    // drawn when the rules for the seventh were done; they were mended with this half of it
	eighthHeldOut             // and this half was scored once after that
	ninth                     // drawn before the rules were looked at again; they were mended with this half of it
	ninthHeldOut              // and this half was scored once after that
	sets
)

func (k *kind) set() set {
	h := fnv.New32a()
	h.Write([]byte(k.name))
	switch {
	case k.table == 9 && h.Sum32()>>5%2 == 0:
		return ninthHeldOut
	case k.table == 9:
		return ninth
	case k.table == 8 && h.Sum32()>>7%2 == 0:
		return eighthHeldOut
	case k.table == 8:
		return eighth
	case k.table == 7 && h.Sum32()>>11%2 == 0:
		return seventhHeldOut
	case k.table == 7:
		return seventh
	case k.table == 6 && h.Sum32()>>9%2 == 0:
		return sixthHeldOut
	case k.table == 6:
		return sixth
	case k.table == 5:
		return fifth
	case k.table == 4 && h.Sum32()>>13%2 == 0:
		return fourthHeldOut
	case k.table == 4:
		return fourth
	case k.table == 3:
		return third
	case k.table == 2 && h.Sum32()%4 == 0:
		return secondHeldOut
	case k.table == 2:
		return second
	case h.Sum32()%5 == 0:
		return firstHeldOut
	}
	return first
}
