/** What people wanted done again: work that succeeded is begun anew for no other reason. */
export class Decisions {
  readonly #reruns = new Map<string, number>()

  /** Of a run by its id, or of whatever was run on a commit. */
  rerun(what: string): void {
    this.#reruns.set(what, this.rerunsOf(what) + 1)
  }

  rerunsOf(what: string): number {
    return this.#reruns.get(what) ?? 0
  }
}
