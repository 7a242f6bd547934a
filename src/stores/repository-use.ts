/**
 * Remembers of which repositories it was noted lately that they are in use, so that a claim does
 * not write it every time. Only a hint: what is forgotten is written once more.
 */
const noteEveryMs = 5 * 60_000
const rememberedMax = 10_000

export class RepositoryUse {
  readonly #notedAt = new Map<string, number>()

  /** Those whose use has to be noted now. */
  news(repositoryIds: Iterable<string>, now: number): readonly string[] {
    if (this.#notedAt.size > rememberedMax) this.#notedAt.clear()
    const news = [...new Set(repositoryIds)].filter((id) => {
      const notedAt = this.#notedAt.get(id)
      // A clock may have been set back.
      return notedAt === undefined || Math.abs(now - notedAt) >= noteEveryMs
    })
    for (const id of news) this.#notedAt.set(id, now)
    return news.toSorted()
  }
}
