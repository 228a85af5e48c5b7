package compare

import (
	"fmt"
	"slices"
	"strings"
)

// Quick are the set-ups and the faults that CI plays.
func Quick() ([]Setup, []Fault) {
	setups := slices.DeleteFunc(Setups(), func(s Setup) bool {
		return s.Name != Nothing && s.Name != softName && s.Name != Breaker
	})
	faults := slices.DeleteFunc(Faults(), func(f Fault) bool { return !slices.Contains(claimed(), f.Name) })
	return setups, faults
}

// ChooseSetups picks set-ups by their names, in the order of Setups. No names = all.
func ChooseSetups(from []Setup, names []string) ([]Setup, error) {
	return choose("set-up", from, names, func(s Setup) string { return s.Name })
}

// ChooseFaults picks faults by their names, in the order of Faults. No names = all.
func ChooseFaults(from []Fault, names []string) ([]Fault, error) {
	return choose("fault", from, names, func(f Fault) string { return f.Name })
}

func choose[T any](kind string, from []T, names []string, nameOf func(T) string) ([]T, error) {
	var known []string
	for _, one := range from {
		known = append(known, nameOf(one))
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("%s: %q given, there are %s", kind, name, strings.Join(known, ", "))
		}
	}
	return slices.DeleteFunc(slices.Clone(from), func(one T) bool {
		return len(names) > 0 && !slices.Contains(names, nameOf(one))
	}), nil
}
