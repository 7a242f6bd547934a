/** The target of a delivery as people write it. */
import type { ChannelDeclaration, Content } from './channel-declaration.ts'
import type { Delivery } from './delivery.ts'

/**
 * `acme/widgets#5`, `acme/widgets#5 needs-work`, `acme/widgets@9c1185a holdfast/review`, or an
 * address. `repo` is null if it is about no repository.
 */
export function targetText(
  { sha, thread, address, content }: TargetFields,
  { place, titleOf }: Pick<ChannelDeclaration, 'place' | 'titleOf'>,
  repo: string | null,
): string {
  const title = titleOf?.(JSON.parse(content) as Content)
  const parts = [repo === null ? address : repo + markOf(place, sha, thread), title]
  return parts.filter((part) => part !== null && part !== undefined).join(' ')
}
type TargetFields = Pick<Delivery, 'sha' | 'thread' | 'address' | 'content'>

function markOf(
  place: ChannelDeclaration['place'],
  sha: string | null,
  thread: number | null,
): string {
  if (place === 'commit') return sha === null ? '' : `@${sha.slice(0, 7)}`
  return thread === null ? '' : `#${thread}`
}
