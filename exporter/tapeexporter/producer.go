// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package tapeexporter // import "github.com/tapedeck/tapedeck/exporter/tapeexporter"

import (
	"runtime/debug"
	"sync"

	"github.com/tapedeck/tapedeck/tape"
)

// module is the path of the module that holds this package, whichever program it is linked into.
const module = "github.com/tapedeck/tapedeck"

// producer names this project and the version of its module, not the collector around it: the same evidence gives the same tape,
// whether a collector or the command line wrote it.
var producer = sync.OnceValue(func() tape.Producer {
	p := tape.Producer{Name: "tapedeck", Version: "(devel)"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return p
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == module && m.Replace == nil && m.Version != "" {
			p.Version = m.Version
		}
	}
	return p
})
