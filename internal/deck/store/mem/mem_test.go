// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package mem_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/deck/store/mem"
	"github.com/tapedeck/tapedeck/internal/deck/storetest"
)

func TestMemStoreConforms(t *testing.T) {
	t.Cleanup(func() { mem.Drop("conformance") })
	storetest.Run(t, "mem://conformance")
}
