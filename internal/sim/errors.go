package sim

import (
	"errors"
	"fmt"
	"strings"
)

// pathError is a mistake in a scenario file and where it is, such as
// "clusters[0].endpoints[2].latency".
type pathError struct {
	path string
	err  error
}

func (e *pathError) Error() string { return e.path + ": " + e.err.Error() }

func (e *pathError) Unwrap() error { return e.err }

// at says in which field an error is. Called again on the way up, it makes the
// path longer. A nil error stays nil.
func at(field string, err error) error {
	if err == nil {
		return nil
	}
	var inner *pathError
	if !errors.As(err, &inner) {
		return &pathError{field, err}
	}
	if strings.HasPrefix(inner.path, "[") {
		return &pathError{field + inner.path, inner.err}
	}
	return &pathError{field + "." + inner.path, inner.err}
}

// atIndex says in which item of a list an error is.
func atIndex(i int, err error) error { return at(fmt.Sprintf("[%d]", i), err) }

// eachOf checks every item of a list up to the first error.
func eachOf[T any](list []T, check func(*T) error) error {
	for i := range list {
		if err := check(&list[i]); err != nil {
			return atIndex(i, err)
		}
	}
	return nil
}

// firstOf returns the first of several errors.
func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
