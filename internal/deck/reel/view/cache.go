// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"

	"github.com/tapedeck/tapedeck/internal/deck/reel"
)

// CacheVariable names the folder for the indexes of decks; "off" keeps none.
const CacheVariable = "TAPEDECK_CACHE"

// cacheFolder is the folder for what is kept of a deck; none for one in memory.
func cacheFolder(name string) string {
	folder := os.Getenv(CacheVariable)
	if folder == "off" || strings.HasPrefix(name, "mem:") {
		return ""
	}
	if folder == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return ""
		}
		folder = filepath.Join(base, "tapedeck")
	}
	return folder
}

// cacheOf is the folder for the indexes of the reels of a deck that lies elsewhere.
func cacheOf(name string) reel.Cache {
	folder := cacheFolder(name)
	if folder == "" || strings.HasPrefix(name, "file:") {
		return ""
	}
	sum := sha256.Sum256([]byte(name))
	return reel.Cache(filepath.Join(folder, "reels", hex.EncodeToString(sum[:8])))
}
