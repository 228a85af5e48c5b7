package compare

import (
	"fmt"
	"strings"
	"time"
)

// Language chooses one of Words.
type Language func(Words) string

// English and Chinese are the languages of the documents.
func English(w Words) string { return w.English }

// Chinese is the other one.
func Chinese(w Words) string { return w.Chinese }

// title is what stands above a column.
func (c Column) title() Words {
	switch c {
	case ColumnLanded:
		return Words{"landed", "落到慢端点"}
	case ColumnUntilNone:
		return Words{"until none", "断流用时"}
	case ColumnP50, ColumnP99:
		return Words{string(c), string(c)}
	case ColumnFailed:
		return Words{"failed", "失败"}
	case ColumnFullShare:
		return Words{"full share", "恢复份额"}
	case ColumnKept:
		return Words{"kept", "误扣"}
	}
	return Words{}
}

func (w Word) words() Words {
	switch w {
	case Ahead:
		return Words{"ahead", "领先"}
	case Behind:
		return Words{"behind", "落后"}
	case Mixed:
		return Words{"mixed", "互有胜负"}
	default:
		return Words{"equal", "持平"}
	}
}

// text is the figure of a column.
func (l Language) text(column Column, f Figures) string {
	switch column {
	case ColumnLanded:
		return l.part(f.Landed, f.DuringFault)
	case ColumnUntilNone:
		return l.wait(f.UntilNone, Words{"never", "从未"})
	case ColumnP50:
		return l.wait(f.P50, Words{"no answer", "无响应"})
	case ColumnP99:
		return l.wait(f.P99, Words{"no answer", "无响应"})
	case ColumnFailed:
		return l.part(f.Failed, f.Requests)
	case ColumnFullShare:
		return l.wait(f.FullShare, Words{"never", "从未"})
	case ColumnKept:
		return fmt.Sprint(f.AllKept())
	}
	return ""
}

func (l Language) part(part, whole int) string {
	if whole == 0 {
		return "–"
	}
	return fmt.Sprintf("%d / %d", part, whole)
}

func (l Language) wait(w Wait, never Words) string {
	switch {
	case w.None:
		return "–"
	case w.Never:
		return l(never)
	case w.After < time.Second:
		return fmt.Sprintf("%d ms", w.After.Milliseconds())
	default:
		return fmt.Sprintf("%.1f s", w.After.Seconds())
	}
}

func (l Language) columns(columns []Column) string {
	titles := make([]string, len(columns))
	for i, column := range columns {
		titles[i] = l(column.title())
	}
	return strings.Join(titles, l(Words{", ", "、"}))
}

// verdict is the word and the columns behind it.
func (l Language) verdict(v Verdict) string {
	var details []string
	if len(v.Ahead) > 0 {
		details = append(details, l(Words{"better: ", "更好："})+l.columns(v.Ahead))
	}
	if len(v.Behind) > 0 {
		details = append(details, l(Words{"worse: ", "更差："})+l.columns(v.Behind))
	}
	text := l(v.Word.words())
	if len(details) == 0 {
		return text
	}
	return text + l(Words{" (", "（"}) + strings.Join(details, l(Words{"; ", "；"})) + l(Words{")", "）"})
}
