// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"hash/maphash"
	"sync"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/spandigest"
	"github.com/tapedeck/tapedeck/internal/reading/textsum"
	"github.com/tapedeck/tapedeck/internal/redact/detect"
)

// A span in which a redactor of this process has found nothing need not be searched again by the same rules. So redactors note the
// fingerprints of such spans, and a gate asks for them with Proof.
//
// The fingerprint is made of all that a span holds, its ids and times included: of its sum, by which a set of evidence tells it from others too. Long texts
// stand in that by the sums that redaction has asked its memory with (see package detect), so that they are hashed once. A span that anybody has changed
// since, by one byte, has another fingerprint and is searched. It has 128 bits under secrets that the process draws at random: nobody can make a span that
// is taken for another. The profile is a part of it. Nothing is kept on disk: what a process has not redacted itself it searches.
//
// The set has a fixed size. A span whose fingerprint had to make room is searched.

const (
	proofShards  = 64
	proofBuckets = 1024 // of a shard
	proofWays    = 4    // fingerprints of a bucket; the oldest makes room
)

// ProofBytes is the most that a process uses to remember spans.
const ProofBytes = proofShards * proofBuckets * proofWays * 16

type fingerprint [2]uint64

type fingerprints struct {
	seeds  [2]maphash.Seed
	shards [proofShards]struct {
		sync.Mutex
		buckets [][proofWays]fingerprint // made when the first fingerprint comes
	}
}

// proven are the fingerprints of this process.
var proven = fingerprints{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}

// of returns the sum of a profile.
func (f *fingerprints) of(profile string) (sum fingerprint) {
	for i := range sum {
		sum[i] = maphash.String(f.seeds[i], profile)
	}
	return sum
}

// with calls use with the bucket of a fingerprint.
func (f *fingerprints) with(sum fingerprint, use func(*[proofWays]fingerprint)) {
	shard := &f.shards[sum[0]>>58]
	shard.Lock()
	defer shard.Unlock()
	if shard.buckets == nil {
		shard.buckets = make([][proofWays]fingerprint, proofBuckets)
	}
	use(&shard.buckets[sum[0]>>1%proofBuckets])
}

// Proof knows the spans in which redactors of this process have found nothing by the rules of one profile.
type Proof struct {
	profile string
	sum     fingerprint // of the profile
}

// asked are the profiles that somebody has a proof for. Without a gate of its profile a redactor notes nothing: nobody would ask.
var asked sync.Map // string → struct{}

// ProofOf returns the proof for a profile. What stands for a value, and the key, are of no matter for it. It holds for spans that are redacted from now on.
func ProofOf(p Profile) Proof {
	proof := proofOf(p)
	asked.Store(proof.profile, struct{}{})
	return proof
}

func proofOf(p Profile) Proof {
	p.Mode = ModeToken
	digest := p.Digest()
	return Proof{digest, proven.of(digest)}
}

// of returns the fingerprint of a span with this sum.
func (p Proof) of(span textsum.Sum) (sum fingerprint) {
	for i := range sum {
		sum[i] = (p.sum[i] ^ span[i]) | 1 // 0 is an empty place
	}
	return sum
}

func (p Proof) asked() bool {
	_, ok := asked.Load(p.profile)
	return ok
}

// Holds says whether the span with this sum (spandigest.Sum) is known to hold nothing that the rules of the profile find.
func (p Proof) Holds(span textsum.Sum) (holds bool) {
	sum := p.of(span)
	proven.with(sum, func(bucket *[proofWays]fingerprint) {
		for _, known := range bucket {
			holds = holds || known == sum
		}
	})
	return holds
}

// searchers are the detectors of the sealed redactors of this process, by the profile of their proof.
var searchers sync.Map // string → *detect.Detector

// Trust makes the redactor take it from the redactors of this process that have sealed a marker for the profile of the proof, what texts hold
// nothing. Its own rules have to be some of those of that profile. It is for scanning, and must not be called while the redactor is in use.
func (r *Redactor) Trust(p Proof) {
	r.detector.Trust(func() *detect.Detector {
		d, _ := searchers.Load(p.profile)
		of, _ := d.(*detect.Detector)
		return of
	})
}

// note remembers a span in which nothing was found. sums is textsum.Of, or knows what that returns.
func (p Proof) note(span ptrace.Span, sums func(string) textsum.Sum) {
	h := spandigest.NewHasher()
	defer h.Release()
	sum := p.of(h.Sum(span, sums))
	proven.with(sum, func(bucket *[proofWays]fingerprint) {
		copy(bucket[1:], bucket[:proofWays-1])
		bucket[0] = sum
	})
}
