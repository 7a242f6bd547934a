/**
 * Labels of a pull request or issue, one at a time: the whole set is never written, because people
 * set labels too.
 *
 * What must hold: a label that is to be gone and is not there is done; a thread that is not there
 * is not. A label's name never becomes another path: `.` and `..` would remove them all.
 */
import { z } from 'zod'
import type { ChannelDeclaration, Content } from '../domain/outbox/channel-declaration.ts'
import type {
  Channel,
  LabelContent,
  LookRequest,
  Ownership,
  OwnershipClaim,
  Prepared,
  SendBy,
  LookResult,
  Written,
} from '../channel.ts'
import { isGitHubError } from '../github/errors.ts'
import { eachPage } from './each-page.ts'
import { onGitHub } from './on-github.ts'
import type { ChannelParts, RepositoryTarget } from './parts.ts'
import { contentOf, prepared, threadIsThere, threadOf } from './parts.ts'
import { labelContent } from './stored-contents.ts'

const ofThread = '/repos/{owner}/{repo}/issues/{issue_number}/labels'
const labelsForm = z.array(z.object({ name: z.string() }))

/** A label is a set that people change, too: to say it twice changes nothing. */
const labelDeclaration = {
  ...onGitHub,
  name: 'github-label',
  kind: 'state',
  place: 'thread',
  replacedBy: 'set',
  keptCopy: null,
  looksFirst: false,
  inDoubt: { policy: 'confirm', looks: 1 },
  progressWritesMax: null,
  peopleCanRemove: true,
  notifiesPeople: false,
  givesBack: false,
  isAllowedByDefault: false,
  output: {
    targetOf: ({ run, repositoryId, content }) =>
      `label ${repositoryId} ${run.pr ?? 0} ${labelIn(content).toLowerCase()}`,
  },
  showsWork: () => false,
  titleOf: labelIn,
  rightFor: (content) => ({ kind: 'label', value: labelIn(content) }),
} as const satisfies ChannelDeclaration

function labelIn(content: Content): string {
  return String(content['label'])
}

export class LabelChannel implements Channel<RepositoryTarget> {
  static readonly declaration = labelDeclaration
  readonly declaration = labelDeclaration
  readonly #parts: ChannelParts

  constructor(parts: ChannelParts) {
    this.#parts = parts
  }

  async prepare(target: RepositoryTarget, given: unknown): Promise<Prepared> {
    threadOf(target)
    return prepared({ ...contentOf(labelContent, given) })
  }

  async write(target: RepositoryTarget, { body }: Prepared, sendBy: SendBy): Promise<Written> {
    const { label, present } = body as unknown as LabelContent
    if (present) {
      const given = { issue_number: threadOf(target), labels: [label] }
      await this.#parts.github.call(target, z.unknown(), `POST ${ofThread}`, given, sendBy)
    } else {
      await this.#takeOff(target, label, sendBy)
    }
    return { providerId: label, url: null }
  }

  /** What is wanted stands when the label is there, or is not, as wanted. */
  async look(
    { target, prepared: wanted }: LookRequest<RepositoryTarget>,
    sendBy: SendBy,
  ): Promise<LookResult> {
    const { label, present } = wanted.body as unknown as LabelContent
    const isThere = await this.#isThere(target, label, sendBy)
    const standing = { providerId: label, url: null, current: isThere === present }
    return { found: isThere || !present ? [standing] : [], unverified: false }
  }

  /** A label is known by its name, which must be the wanted one, and is anybody's. */
  async ownershipOf(claim: OwnershipClaim<RepositoryTarget>, sendBy: SendBy): Promise<Ownership> {
    const { target, providerId, content } = claim
    if (!(await this.#isThere(target, providerId, sendBy))) return 'absent'
    const { label } = contentOf(labelContent, content)
    return label.toLowerCase() === providerId.toLowerCase() ? 'ours' : 'another'
  }

  placeIsThere(target: RepositoryTarget, sendBy: SendBy): Promise<boolean> {
    return threadIsThere(this.#parts.github, target, sendBy)
  }

  async #takeOff(target: RepositoryTarget, label: string, sendBy: SendBy): Promise<void> {
    const given = { issue_number: threadOf(target), name: label }
    const route = `DELETE ${ofThread}/{name}`
    try {
      await this.#parts.github.call(target, z.unknown(), route, given, sendBy)
    } catch (error) {
      // The same answer for an absent label and for an absent thread: the list tells them apart.
      if (!isGitHubError(error, 'not_found')) throw error
      if (await this.#isThere(target, label, sendBy)) throw error
    }
  }

  async #isThere(target: RepositoryTarget, label: string, sendBy: SendBy): Promise<boolean> {
    const { github } = this.#parts
    const place = { issue_number: threadOf(target) }
    const pages = eachPage(github, target, labelsForm, `GET ${ofThread}`, place, sendBy)
    for await (const page of pages) {
      if (page.some(({ name }) => name.toLowerCase() === label.toLowerCase())) return true
    }
    return false
  }
}
