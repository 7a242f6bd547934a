/** What a restore leads to, for whoever notes it and whoever starts a server on the copy. */
import type { RestoreNote } from '../outbox-store.ts'

/** So long after the last read a start does not speak of it any more. */
const readsTakeMs = 60_000

/** After `migrate --restored`, which also somebody gives whose database was never restored. */
export function notedText(note: RestoreNote): string {
  const noted = `Noted that this database was restored, at ${time(note.restoredAt)}.`
  if (note.open + note.shown === 0) {
    return `${noted}\nNo delivery is open or was shown lately, so there is nothing to look for.\n`
  }
  return [
    noted,
    'The next server looks on GitHub before it sends anything, so that nothing is sent twice:',
    `  ${countOf(note.open, 'open delivery is', 'open deliveries are')} looked for, ` +
      'and sent only if not found.',
    `  ${countOf(note.shown, 'that was shown is', 'that were shown are')} read once more, ` +
      'one a second, and corrected if GitHub shows something else.',
    'If it was not restored, that costs these looks and changes nothing.\n',
  ].join('\n')
}

/** For the start of a server; null when it is not, or no longer, about a restore. */
export function restoredLine(note: RestoreNote | null, now: number): string | null {
  if (note === null) return null
  const { copiedAt, open, shown, lastReadAt, servedAt } = note
  if (now > Math.max(lastReadAt, servedAt ?? now) + readsTakeMs) return null
  const copy = `restored copy of ${time(copiedAt)}`
  if (open + shown === 0)
    return `${copy}; nothing was open or shown lately, so nothing is looked for`
  const until = lastReadAt > now ? `until about ${time(lastReadAt)}` : 'now'
  return (
    `${copy}; looks on GitHub for ${countOf(open, 'open delivery', 'open deliveries')} before ` +
    `sending and reads ${countOf(shown, 'shown one', 'shown ones')} again, ${until}`
  )
}

const countOf = (count: number, one: string, many: string): string =>
  `${count} ${count === 1 ? one : many}`

const time = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z')
