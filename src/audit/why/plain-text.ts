/** The whole answer as plain text: the one place where it is laid out, for terminals and chats. */
import { sentence } from '../../sentences.ts'
import type { Why } from '../why.ts'
import { clockOf, dayOf, timeWords } from './plain-words.ts'

export function plainText(why: Omit<Why, 'text'>, now: number): string {
  const { headline, story, awaiting, actions } = why
  const parts = [headline]
  if (story.length > 0) parts.push(section('What happened (UTC)', storyLines(why)))
  if (awaiting.length > 0) {
    const lines = awaiting.map(({ what, until }) => `- ${untilWords(until, now)}${sentence(what)}`)
    parts.push(section('Awaited', lines))
  }
  if (actions.length > 0) {
    const lines = actions.map(({ text, command }) => {
      return command === null ? `- ${sentence(text)}` : `- ${text}:\n    ${command}`
    })
    parts.push(section('What you can do', lines))
  }
  return `${parts.join('\n\n')}\n`
}

/** The day is said when it changes. */
function storyLines({ story }: Pick<Why, 'story'>): string[] {
  return story.flatMap(({ at, text }, i) => {
    const line = `  ${clockOf(at)}  ${text}`
    const before = story[i - 1]
    const isSameDay = before !== undefined && dayOf(before.at) === dayOf(at)
    return isSameDay ? [line] : [dayOf(at), line]
  })
}

function untilWords(until: number | null, now: number): string {
  if (until === null) return ''
  const time = timeWords(until, now)
  return until <= now ? `overdue since ${time}: ` : `until ${time}: `
}

const section = (title: string, lines: readonly string[]): string => [title, ...lines].join('\n')
