/**
 * How the text of a failure is shortened. Most errors begin with the reason. The text of a failed
 * command is how it ended, and then the last lines of its output: there the last line has the
 * reason.
 */

/** The error of a run whose command ended with a failure. */
export const commandFailed = 'command_failed'

/** The text on at most `max` characters, with what says the reason. */
export function shortFailure(code: string | null, text: string, max: number): string {
  if (text.length <= max) return text
  const short = code === commandFailed ? bothEnds(text, max) : `${text.slice(0, max - 1)}…`
  return short.toWellFormed()
}

const cut = '\n…\n'

/** The first line, and as much of the end as there is room for. */
function bothEnds(text: string, max: number): string {
  const [line = ''] = text.split('\n', 1)
  const first = line.slice(0, Math.floor(max / 4))
  const end = text.slice(-(max - first.length - cut.length))
  return `${first}${cut}${fromAWord(end)}`
}

/** A short piece of a word at the start says nothing. */
const fromAWord = (text: string): string => text.replace(/^\S{0,20}\s+/, '')
