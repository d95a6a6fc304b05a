// Which part of a step a timeline shows, and where its instants stand.

const kClosest = 0.5; // microseconds across the whole width

export class TimelineView {
  left = 104;  // where time begins on the canvas
  width = 800; // of the whole canvas

  /**
   * @param {{begin: number, whole: number}} step from its first instant to a little behind its last
   * @param {() => void} changed
   */
  constructor(step, changed) {
    this.step = step;
    this.changed = changed;
    this.from = step.begin;
    this.to = step.whole;
  }

  get seesWhole() {
    return this.from <= this.step.begin && this.to >= this.step.whole;
  }

  get usPerPixel() {
    return (this.to - this.from) / (this.width - this.left);
  }

  /** @param {number} x */
  usAt(x) {
    return this.from + ((x - this.left) / (this.width - this.left)) * (this.to - this.from);
  }

  /** @param {number} from @param {number} to */
  show(from, to) {
    const {begin, whole} = this.step;
    const span = Math.min(whole - begin, Math.max(kClosest, to - from));
    this.from = Math.min(Math.max(begin, from), whole - span);
    this.to = this.from + span;
    this.changed();
  }

  fit() {
    this.show(this.step.begin, this.step.whole);
  }

  /** @param {number} us instant that stands in the middle then */
  centre(us) {
    const half = (this.to - this.from) / 2;
    this.show(us - half, us + half);
  }

  /** @param {number} factor below 1: closer @param {number} [about] instant that stays where it is */
  zoom(factor, about = (this.from + this.to) / 2) {
    this.show(about - (about - this.from) * factor, about + (this.to - about) * factor);
  }

  /** @param {number} share of what is seen */
  pan(share) {
    this.show(this.from + share * (this.to - this.from), this.to + share * (this.to - this.from));
  }
}
