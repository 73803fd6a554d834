// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package otlpfile

import (
	"bytes"
	"testing"
)

func BenchmarkRead(b *testing.B) {
	data := fixture(b, "forge_happy.otlp.json")
	line := append(compact(b, data), '\n')
	proto := protobuf(b, data)
	for name, doc := range map[string][]byte{"JSON": bytes.Repeat(line, 100), "frames": bytes.Repeat(frames(proto), 100)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(doc)))
			b.ReportAllocs()
			for b.Loop() {
				for _, err := range Read(bytes.NewReader(doc), "in", Options{}) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
