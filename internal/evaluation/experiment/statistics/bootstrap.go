// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package statistics judges the paired deltas of an experiment: medians with bootstrap intervals, exact paired tests, floors, and the
// verdict. Bootstrap and verdict are those of whatifd 0.3.0, to the digit: the same generator, the same indices, the same rules.
package statistics

import (
	"errors"
	"math"
	"slices"
)

// Bootstrap says how an interval is made: a percentile bootstrap of the median over whole pairs.
type Bootstrap struct {
	Resamples int     `json:"resamples"`
	Seed      uint64  `json:"seed"`
	Level     float64 `json:"level"` // within (0, 1)
}

// DefaultBootstrap is what whatifd uses.
var DefaultBootstrap = Bootstrap{Resamples: 2000, Seed: 4872109, Level: 0.95}

// Interval is a median with its interval.
type Interval struct{ Median, Lower, Upper float64 }

// ErrNoDeltas is returned where there is nothing to take a median of.
var ErrNoDeltas = errors.New("no deltas")

// Interval returns the median of deltas and its interval. It does not change deltas.
func (b Bootstrap) Interval(deltas []float64) (Interval, error) {
	n := len(deltas)
	if n == 0 {
		return Interval{}, ErrNoDeltas
	}
	if b.Resamples < 1 || !(b.Level > 0 && b.Level < 1) {
		return Interval{}, errors.New("a bootstrap needs a resample and a level between 0 and 1")
	}
	random := newTwister(b.Seed)
	medians, sample := make([]float64, b.Resamples), make([]float64, n)
	for i := range medians {
		for j := range sample {
			sample[j] = deltas[int(random.float64()*float64(n))]
		}
		medians[i] = medianOf(sample)
	}
	slices.Sort(medians)
	alpha := (1 - b.Level) / 2
	last := float64(b.Resamples - 1)
	at := func(share float64) float64 {
		return medians[min(max(int(math.RoundToEven(share*last)), 0), b.Resamples-1)]
	}
	return Interval{Median(deltas), at(alpha), at(1 - alpha)}, nil
}

// Median returns the middle of values, or the mean of both middles. It does not change values. Without values it is NaN.
func Median(values []float64) float64 { return medianOf(slices.Clone(values)) }

// medianOf sorts values.
func medianOf(values []float64) float64 {
	n := len(values)
	if n == 0 {
		return math.NaN()
	}
	slices.Sort(values)
	if n%2 == 1 {
		return values[n/2]
	}
	return (values[n/2-1] + values[n/2]) / 2
}

// SignTest is the two-sided exact sign test: the probability that so uneven a division of changes comes about by chance. Deltas within
// epsilon of zero are left out. changed is how many are left; without any the probability is 1.
func SignTest(deltas []float64, epsilon float64) (p float64, changed int) {
	fewer := 0
	for _, d := range deltas {
		switch {
		case d > epsilon:
			changed++
		case d < -epsilon:
			changed++
			fewer++
		}
	}
	fewer = min(fewer, changed-fewer)
	sum := 0.0
	for k := range fewer + 1 {
		sum += math.Exp(logChoose(changed, k) - float64(changed)*math.Ln2)
	}
	return min(1, 2*sum), changed
}

func logChoose(n, k int) float64 {
	gamma := func(x int) float64 { v, _ := math.Lgamma(float64(x) + 1); return v }
	return gamma(n) - gamma(k) - gamma(n-k)
}

// twister is MT19937 as Python seeds and uses it.
type twister struct {
	state [624]uint32
	next  int
}

// newTwister seeds by init_by_array with the 32-bit words of the seed, least significant first.
func newTwister(seed uint64) *twister {
	key := []uint32{uint32(seed)}
	if high := uint32(seed >> 32); high != 0 {
		key = append(key, high)
	}
	t := &twister{next: 624}
	s := &t.state
	s[0] = 19650218
	for i := 1; i < 624; i++ {
		s[i] = 1812433253*(s[i-1]^s[i-1]>>30) + uint32(i)
	}
	i, j := 1, 0
	step := func() {
		if i++; i == 624 {
			s[0], i = s[623], 1
		}
	}
	for range 624 {
		s[i] = (s[i] ^ (s[i-1]^s[i-1]>>30)*1664525) + key[j] + uint32(j)
		step()
		j = (j + 1) % len(key)
	}
	for range 623 {
		s[i] = (s[i] ^ (s[i-1]^s[i-1]>>30)*1566083941) - uint32(i)
		step()
	}
	s[0] = 1 << 31
	return t
}

func (t *twister) uint32() uint32 {
	if t.next == 624 {
		for i := range t.state {
			y := t.state[i]&(1<<31) | t.state[(i+1)%624]&(1<<31-1)
			v := t.state[(i+397)%624] ^ y>>1
			if y&1 == 1 {
				v ^= 0x9908b0df
			}
			t.state[i] = v
		}
		t.next = 0
	}
	y := t.state[t.next]
	t.next++
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

// float64 returns a number in [0, 1) with 53 random bits.
func (t *twister) float64() float64 {
	a, b := t.uint32()>>5, t.uint32()>>6
	return (float64(a)*(1<<26) + float64(b)) / (1 << 53)
}
