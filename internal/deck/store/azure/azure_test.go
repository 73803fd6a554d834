// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package azure_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	_ "github.com/tapedeck/tapedeck/internal/deck/store/azure"
	"github.com/tapedeck/tapedeck/internal/deck/storetest"
)

func TestMain(m *testing.M) { storetest.VerifyNoLeaks(m) }

func TestAzureStore(t *testing.T) {
	const secret = "hunter2"
	storetest.Service(t, func(t testing.TB) string { return decktest.Azurite(t).URL }, secret,
		"azblob://bucket?key="+secret, "azblob://", "azblob://bucket?localemu="+secret, "azblob://a:"+secret+"@bucket")
}
