// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package generation

import (
	"runtime/debug"
	"slices"
	"sync"

	"github.com/tapedeck/tapedeck/tape"
)

// module is the path of the module that holds this package, whichever program it is linked into.
const module = "github.com/tapedeck/tapedeck"

// Producer names this project and the version of its module, not the program that links it. So the same
// evidence gives the same tape, whether a collector or the command line derives it. A build from a checkout
// is "(devel)".
var Producer = sync.OnceValue(func() tape.Producer {
	p := tape.Producer{Name: "tapedeck", Version: "(devel)"}
	info, ok := debug.ReadBuildInfo()
	if !ok || slices.ContainsFunc(info.Settings, func(s debug.BuildSetting) bool { return s.Key == "vcs" }) && info.Main.Path == module {
		return p
	}
	for _, m := range append(slices.Clone(info.Deps), &info.Main) {
		if m.Path == module && m.Replace == nil && m.Version != "" {
			p.Version = m.Version
		}
	}
	return p
})
