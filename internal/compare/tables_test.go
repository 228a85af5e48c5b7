package compare

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEightSetupsMeetSevenFaults(t *testing.T) {
	names := map[string]bool{}
	for _, setup := range Setups() {
		names[setup.Name] = true
		assertBothLanguages(t, setup.Description)
		assert.NotNil(t, setup.configure, setup.Name)
	}
	assert.Len(t, names, 8)
	assert.Equal(t, Breaker, Setups()[7].Name, "the breaker is last")

	names = map[string]bool{}
	for _, fault := range Faults() {
		names[fault.Name] = true
		assertBothLanguages(t, fault.Title)
		assertBothLanguages(t, fault.Description)
		assert.Equal(t, len(fault.Faulty) > 0, fault.inject != nil, "%s: what happens, and to whom", fault.Name)
	}
	assert.Len(t, names, 7)
	for _, name := range claimed() {
		assert.Contains(t, names, name)
	}
}

func assertBothLanguages(t *testing.T, words Words) {
	t.Helper()
	assert.NotEmpty(t, words.English)
	assert.Regexp(t, `\p{Han}`, words.Chinese)
	assert.NotRegexp(t, `\p{Han}`, words.English)
}

func TestCIPlaysThreeSetupsUnderTheClaimedFaults(t *testing.T) {
	setups, faults := Quick()
	require.Len(t, setups, 3)
	assert.Equal(t, []string{Nothing, softName, Breaker}, []string{setups[0].Name, setups[1].Name, setups[2].Name})
	require.Len(t, faults, 2)
	assert.Equal(t, []string{faults[0].Name, faults[1].Name}, claimed())
}

func TestNamesChooseInTheTablesOrder(t *testing.T) {
	chosen, err := ChooseFaults(Faults(), []string{"stall", "slow"})
	require.NoError(t, err)
	require.Len(t, chosen, 2)
	assert.Equal(t, "slow", chosen[0].Name)

	all, err := ChooseSetups(Setups(), nil)
	require.NoError(t, err)
	assert.Len(t, all, 8)

	_, err = ChooseSetups(Setups(), []string{"breaker", "magic"})
	require.EqualError(t, err, `set-up: "magic" given, there are nothing, usual-advice, soft-timeouts, least-request, tuned-outlier, breaker-headers, breaker-defaults, breaker`)
}
