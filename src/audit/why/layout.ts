/** The whole answer as plain text: the one place where it is laid out, for terminals and chats. */
import { sentence } from '../../sentences.ts'
import type { Why } from '../why.ts'
import type { StoryEntry } from './story.ts'
import { clockOf, dayOf, timeWords } from './names.ts'

export function plainText(why: Omit<Why, 'text'>, now: number): string {
  const { headline, story, awaiting, actions } = why
  const parts = [headline]
  if (story.length > 0) parts.push(section('What happened (UTC)', storyLines(why)))
  if (awaiting.length > 0) {
    const lines = awaiting.map(({ what, until }) => `- ${untilWords(until, now)}${sentence(what)}`)
    parts.push(section('Waiting for', lines))
  }
  if (actions.length > 0) {
    const lines = actions.map(({ text, command }) => {
      return command === null ? `- ${sentence(text)}` : `- ${text}:\n    ${command}`
    })
    parts.push(section('What you can do', lines))
  }
  return `${parts.join('\n\n')}\n`
}

/**
 * The day is said when it changes. What follows from a line stands deeper than it, without a time
 * if that is the same.
 */
function storyLines({ story }: Pick<Why, 'story'>): string[] {
  return story.flatMap((entry, i) => {
    const before = story[i - 1]
    const line = `${beginning(entry, before)}${entry.text}`
    const isSameDay = before !== undefined && dayOf(before.at) === dayOf(entry.at)
    return isSameDay || entry.type === 'left_out' ? [line] : [dayOf(entry.at), line]
  })
}

function beginning({ at, depth, type }: StoryEntry, before: StoryEntry | undefined): string {
  if (type === 'left_out') return '  '
  if (depth === 0) return `  ${clockOf(at)}  `
  const isSame = before !== undefined && clockOf(before.at) === clockOf(at)
  return `  ${isSame ? ' '.repeat(8) : clockOf(at)}    `
}

function untilWords(until: number | null, now: number): string {
  if (until === null) return ''
  const time = timeWords(until, now)
  return until <= now ? `overdue since ${time}: ` : `until ${time}: `
}

const section = (title: string, lines: readonly string[]): string => [title, ...lines].join('\n')
