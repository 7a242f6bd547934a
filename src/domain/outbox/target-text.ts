/** What a delivery is about, as people write it. */
import type { Delivery } from './delivery.ts'

/** `acme/widgets#5`, `acme/widgets#5 needs-work`, `acme/widgets@9c1185a holdfast/review` */
export function targetText(
  { channel, sha, thread, content }: Pick<Delivery, 'channel' | 'sha' | 'thread' | 'content'>,
  repo: string,
): string {
  const given = JSON.parse(content) as Readonly<Record<string, unknown>>
  const onThread = thread === null ? repo : `${repo}#${thread}`
  const onCommit = sha === null ? repo : `${repo}@${sha.slice(0, 7)}`
  switch (channel) {
    case 'github-status':
      return `${onCommit} ${String(given['context'])}`
    case 'github-check':
      return `${onCommit} ${String(given['name'])}`
    case 'github-label':
      return `${onThread} ${String(given['label'])}`
    default:
      return onThread
  }
}
